import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TellingEffect, type TestEngine, tellingEffect, testEngine } from '../testing/index.ts';

let t: TestEngine;
let door: TellingEffect;
let made = 0;
beforeAll(async () => {
  t = await testEngine({ onError: () => {} });
  door = await tellingEffect(t.engine, 'door', 'door');
});
afterAll(() => t.close());

const LEASE_MS = 10_000;
async function lanes(count: number): Promise<{ tenantId: number; laneId: string }[]> {
  const ids = await t.engine.ensureLanes(
    t.db,
    1,
    'test',
    Array.from({ length: count }, (_, n) => `${made} ${n}`),
  );
  made += 1;
  return ids.map((laneId) => ({ tenantId: 1, laneId }));
}
const enqueue = (all: { tenantId: number; laneId: string }[], more = {}) =>
  t.engine.enqueueMany(
    t.db,
    all.map((lane) => ({ ...lane, kind: 'x', channel: 'door', maxAttempts: 1, ...more })),
  );
const claim = (all: { tenantId: number; laneId: string }[]) =>
  Promise.all(
    all.map((lane) => t.engine.claim(t.db, { ...lane, channel: 'door', worker: 'w', leaseMs: LEASE_MS })),
  );
const states = async (all: { laneId: string }[]) => {
  const { rows } = await t.db.query({
    text: 'select state, count(*)::int as n from muster.action_states where lane_id = any($1) group by 1 order by 1',
    values: [all.map(({ laneId }) => laneId)],
  });
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
};
const rounds = async (duty: string, count: number) => {
  for (let n = 0; n < count; n += 1) await t.engine.runDuty(duty).catch(() => {});
};

test('G40 G50 G68: 500 lanes whose effect throws do not keep leases behind them from ending', async () => {
  const worst = await lanes(500);
  const behind = await lanes(3);
  await enqueue(worst);
  await claim(worst);
  t.clock.advance(1); // so that these come first
  await enqueue(behind);
  await claim(behind);
  await door.refuse('lane', ...worst.map(({ laneId }) => laneId));
  t.clock.advance(LEASE_MS);
  await rounds('end-leases', 2);
  expect(await states(behind)).toEqual({ failed: 3 });
  expect(await states(worst)).toEqual({ claimed: 500 });

  // they are tried again after a second, and after two more the next time
  const tries = async (ms: number) => {
    t.clock.advance(ms);
    return t.engine.runDuty('end-leases').then(
      (count) => count > 0,
      () => true,
    );
  };
  expect(await tries(999)).toBe(false);
  await door.accept(...worst.slice(1).map(({ laneId }) => laneId));
  expect(await tries(1)).toBe(true);
  expect(await states(worst)).toEqual({ claimed: 1, failed: 499 });
  expect(await tries(1_999)).toBe(false);
  await door.accept();
  expect(await tries(1)).toBe(true);
  expect(await states(worst)).toEqual({ failed: 500 });
});

test.each<[string, (all: { tenantId: number; laneId: string }[]) => Promise<unknown>, string]>([
  [
    'expire',
    async (all) => {
      await enqueue(all, { deliverBy: new Date(t.clock().getTime() + 1_000) });
      t.clock.advance(1_000);
    },
    'expired',
  ],
  [
    'end-stale',
    async (all) => {
      await enqueue(all);
      // as left by a transaction that did not know of the new generation
      await t.db.query({
        text: `with l as (update muster.lanes set generation = 2, ver = ver + 1 where lane_id = any($1) returning tenant_id, lane_id)
          insert into muster.stale_lanes (tenant_id, lane_id) select * from l`,
        values: [all.map(({ laneId }) => laneId)],
      });
    },
    'cancelled',
  ],
])('G40 G50: %s leaves out a lane whose effect threw, and tries it again later', async (duty, due, state) => {
  const all = await lanes(5);
  await due(all);
  const worst = all.slice(1, 3);
  await door.refuse('lane', ...worst.map(({ laneId }) => laneId));
  await expect(t.engine.runDuty(duty)).rejects.toThrow('division by zero');
  expect(await states(all)).toEqual({ pending: 2, [state]: 3 });
  expect(await t.engine.runDuty(duty)).toBe(0);
  await door.accept();
  t.clock.advance(1_000);
  expect(await t.engine.runDuty(duty)).toBe(2);
  expect(await states(all)).toEqual({ [state]: 5 });
});
