import { pagesTouched } from '@muster/engine/testing';
import { certificateHash } from '@muster/mdm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSettle } from '../src/features/mdm/commands/settle.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

/** Pages that a report of a phone touches, as counted by the database, with few commands and with many. */
let s: MdmStage;
let udid: string;
let hash: string;
beforeAll(async () => {
  s = await mdmStage();
  const { phone } = await s.enrolled();
  udid = phone.udid;
  hash = certificateHash(phone.identity?.certificate as never);
});
afterAll(() => s.close());

const FEW = 20;
const MANY = 4_000;
/** More levels of the indexes, and other plans that look up by key. */
const SAME = 40;
const query = async (text: string) => (await s.t.engine.db.query({ text })).rows;

/** Half of them answered. */
async function commands(from: number, to: number): Promise<void> {
  await query(`insert into muster.mdm_commands (tenant_id, udid, command_uuid, source, request_type, payload, created_at, expires_at, closed_at, answered_at)
    select 1, '${udid}', 'c-' || n, 'bus', 'DeviceLock', '{}', now(), now() + interval '1 day', x.at, x.at
    from generate_series(${from}, ${to}) n cross join lateral (select case when n % 2 = 1 then now() end as at) x`);
  await query('analyze muster.mdm_commands');
}

const report = () => {
  const settle = createSettle('muster', () => s.t.engine.now());
  return pagesTouched(s.t.engine.db, async (client) => {
    const said = {
      tenantId: 1,
      udid,
      hash,
      status: 'Acknowledged',
      commandUuid: 'c-2',
      begins: false,
    } as const;
    const [settled] = await settle(client, [said]);
    expect(settled).toMatchObject({ answered: { source: 'bus' }, next: { commandUuid: 'c-4' } });
  });
};

test('a report costs the same with four thousand commands, whatever the statistics say', async () => {
  await commands(1, FEW);
  const few = await report();
  await commands(FEW + 1, MANY);
  expect(await report()).toBeLessThan(few + SAME);
  for (const rows of [0, 1, 1e9]) {
    await query(`update pg_class c set reltuples = ${rows}, relpages = greatest(1, pg_relation_size(c.oid) / 8192)
      where c.relnamespace = 'muster'::regnamespace and (c.relname like 'mdm_commands%' or c.relname like 'commands_%')`);
    expect(await report(), `${rows} rows`).toBeLessThan(few + SAME);
  }
});
