import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Duties are asked first, all in one query, whether there is anything to do: an idle server asks little. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

test('every duty of each second is asked first', () => {
  const unasked = t.engine.duties.filter(({ due, everyMs }) => everyMs <= 1_000 && due === undefined);
  expect(unasked.map(({ name }) => name)).toEqual([]);
});

test.each([
  [
    'bus-dead-letters',
    'insert into muster.bus_dead_letters (tenant_id, action_id, look_at) values (1, 1, $1)',
  ],
  [
    'tell-of-dead-letters',
    'insert into muster.callback_letters (tenant_id, action_id, at, look_at) values (1, 1, $1, $1)',
  ],
  [
    'mdm-expire-commands',
    `insert into muster.mdm_commands (created_at, tenant_id, udid, command_uuid, source, request_type, payload, expires_at)
      values ($1, 1, 'u', 'c', 'own', 'DeviceLock', '{}', $1)`,
  ],
])('%s has something to do when its time has come', async (name, insert) => {
  const { due } = t.engine.duties.find((duty) => duty.name === name) ?? {};
  const isDue = async (at: Date) => {
    const { rows } = await t.engine.db.query({ text: `select (${due}) as due`, values: [at] });
    return rows[0].due === true;
  };
  const at = t.clock();
  expect(await isDue(at)).toBe(false);
  await t.engine.db.query({ text: insert, values: [at] });
  expect(await isDue(new Date(at.getTime() - 1))).toBe(false);
  expect(await isDue(at)).toBe(true);
});
