import type { Query } from '@muster/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { check } from '../src/commands/check.ts';
import { readConfig } from '../src/config.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** `muster check` on an installation in use, and on tampered tables. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

async function run(): Promise<{ code: number; lines: string[]; statements: string[] }> {
  const lines: string[] = [];
  const statements: string[] = [];
  const { db } = t.engine;
  const watched = {
    ...db,
    transaction: <T>(play: (tx: never) => Promise<T>) =>
      db.transaction((tx) =>
        play({
          ...tx,
          query(query: Query) {
            statements.push(query.text.trim().split(/\s/)[0] ?? '');
            return tx.query(query);
          },
        } as never),
      ),
  };
  const out = { say: (line: string) => void lines.push(line), note: () => {}, data: async () => {} };
  const code = await check.run({ config: readConfig({}), db: watched }, {}, out);
  return { code, lines, statements };
}

const ask = async (path: string, body: object) => (await t.post(path, body)).body;

async function someActions(): Promise<string[]> {
  const ids: string[] = [];
  for (const lane of ['a', 'b', 'b', 'c'])
    ids.push((await ask(`/api/lanes/check-${lane}/actions`, { kind: 'test' })).id);
  const [claimed] = (await ask('/api/lanes/check-a/claim', { worker: 'w' })).actions;
  await ask(`/api/actions/${claimed.id}/report`, { attempt: 1, status: 'failed' });
  await t.pass(10_000);
  await ask('/api/lanes/check-a/claim', { worker: 'w' });
  const [other] = (await ask('/api/lanes/check-b/claim', { worker: 'w' })).actions;
  await ask(`/api/actions/${other.id}/report`, { attempt: 1, status: 'succeeded', next: {} });
  await ask(`/api/actions/${ids[3]}/cancel`, {});
  return ids;
}

let ids: string[];

test('G46: an installation in use has no violations; it is read in pages and not changed', async () => {
  ids = await someActions();
  const { code, lines, statements } = await run();
  expect(lines.at(-1)).toMatch(/^3 lanes, 4 actions, \d+ events, 0 violations\.$/);
  expect(code).toBe(0);
  expect(new Set(statements)).toEqual(new Set(['set', 'select']));
});

/** What was changed in the tables, what it violates, and how to undo it. */
const TAMPERING: Record<string, { promise: string; sql: (id: string) => string }> = {
  'an action is gone from the queue': {
    promise: 'G1',
    sql: (id) =>
      `delete from muster.pending where lane_id = (select lane_id from muster.actions where action_id = ${id})`,
  },
  'an attempt was handed out twice': {
    promise: 'G3',
    sql: (id) => `insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt)
      select tenant_id, action_id, lane_id, at, 2, 1 from muster.history where action_id = ${id} and type = 1`,
  },
  'two actions of a lane were out at once': {
    promise: 'G11',
    sql: (id) =>
      `update muster.lanes set sent_id = sent_id - 2 where lane_id = (select lane_id from muster.actions where action_id = ${id})`,
  },
  'a report has ended another attempt': {
    promise: 'G15',
    sql: (id) => `update muster.endings set attempt = 7, sent_id = null where action_id = ${id}`,
  },
  'housekeeping does not look at a lane when its lease ends': {
    promise: 'G7',
    sql: () => 'update muster.lanes set check_at = null where lease_until is not null',
  },
  'a lane is gone and its actions are not': {
    promise: 'G1',
    sql: (id) =>
      `delete from muster.lanes where lane_id = (select lane_id from muster.actions where action_id = ${id})`,
  },
  'a count is wrong': {
    promise: 'G45',
    sql: () => `insert into muster.count_changes values (1, 'generic', 'failed', 1)`,
  },
};

test.each(Object.entries(TAMPERING))(
  '%s: it is reported, with the promise and the history',
  async (_what, tampering) => {
    const succeeded = ids[1] as string;
    class TakenBack extends Error {}
    const { db } = t.engine;
    const found = await db
      .transaction(async (tx) => {
        await tx.query({ text: tampering.sql(succeeded) });
        // the same statements inside the transaction that is rolled back afterwards
        const inside = {
          ...db,
          transaction: <T>(play: (tx: never) => Promise<T>) => play(readable(tx) as never),
        };
        const lines: string[] = [];
        const out = { say: (line: string) => void lines.push(line), note: () => {}, data: async () => {} };
        const code = await check.run({ config: readConfig({}), db: inside }, {}, out);
        throw Object.assign(new TakenBack(), { told: { code, lines } });
      })
      .catch((error) => {
        if (error instanceof TakenBack)
          return (error as never as { told: { code: number; lines: string[] } }).told;
        throw error;
      });
    expect(found).toMatchObject({ code: 1 });
    expect((found as { lines: string[] }).lines.join('\n')).toMatch(
      new RegExp(`^${tampering.promise} is broken \\(tenant 1\\): `, 'm'),
    );
    expect((await run()).code).toBe(0);
  },
);

/** A transaction that has begun to write cannot become read-only. */
function readable(tx: { query(query: Query): Promise<{ rows: unknown[] }> }) {
  return {
    query: (query: Query) => (query.text.startsWith('set transaction') ? { rows: [] } : tx.query(query)),
  };
}
