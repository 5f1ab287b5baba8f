import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TellingEffect, type TestEngine, tellingEffect, testEngine } from '../testing/index.ts';

let t: TestEngine;
let effect: TellingEffect;
beforeAll(async () => {
  t = await testEngine();
  effect = await tellingEffect(t.engine, 'door', 'door');
});
afterAll(() => t.close());

const LEASE = 10_000;
const door = { channel: 'door', maxAttempts: 2, backoffMs: 0 } as const;
const claim = (laneId: string) =>
  t.engine.claim(t.db, { tenantId: 1, laneId, channel: 'door', worker: 'w', leaseMs: LEASE });

test('G50: every transition carries the state before it, whatever made it', async () => {
  const { laneId } = await t.lane();
  const lane = { tenantId: 1, laneId };
  const ref = (actionId: string) => ({ tenantId: 1, actionId });

  // failed, redelivered, failed for good, redriven, cancelled while it runs
  const first = await t.enqueue(laneId, door);
  await claim(laneId);
  await claim(laneId);
  await t.report(first, 1, 'failed');
  await claim(laneId);
  await t.report(first, 2, 'failed');
  await t.engine.redrive(t.db, ref(first));
  await claim(laneId);
  await t.engine.cancel(t.db, ref(first));
  await t.report(first, 3, 'failed');
  // timed out twice and yet a success; late while pending
  const second = await t.enqueue(laneId, door);
  await claim(laneId);
  await t.pass(LEASE);
  await claim(laneId);
  await t.pass(LEASE);
  await t.report(second, 2);
  const third = await t.enqueue(laneId, door);
  await claim(laneId);
  await t.pass(LEASE);
  await t.report(third, 1);
  // released, moved, made due, superseded, expired, cancelled before it ran, ended by a new generation
  const fourth = await t.enqueue(laneId, door);
  await claim(laneId);
  await t.engine.release(t.db, { ...ref(fourth), attempt: 1 });
  const fifth = await t.enqueue(laneId, door);
  await t.engine.moveToFront(t.db, ref(fifth));
  const seventh = await t.enqueue(laneId, { ...door, notBefore: new Date(t.clock().getTime() + 60_000) });
  await t.engine.makeDue(t.db, ref(seventh));
  for (const n of [1, 2])
    await t.enqueue(laneId, { ...door, payload: n, supersede: { key: 'k', mode: 'replace' } });
  const sixth = await t.enqueue(laneId, { ...door, deliverBy: new Date(t.clock().getTime() + 1_000) });
  await t.pass(1_000);
  await t.engine.cancel(t.db, ref(fifth));
  await t.enqueue(laneId, { ...door, deadline: new Date(t.clock().getTime() + 1_000) });
  await t.pass(1_000);
  await claim(laneId);
  await t.engine.raiseGeneration(t.db, lane);

  /** The state of each action according to the effect. */
  const states = new Map<string, string>();
  for (const transition of await effect.told()) {
    expect(transition).toMatchObject({ before: states.get(transition.actionId) ?? null });
    states.set(transition.actionId, transition.state);
  }
  expect(states.get(sixth)).toBe('expired');
  for (const [id, state] of states) expect([id, await t.state(id)]).toEqual([id, state]);
  expect(new Set(states.values())).toEqual(new Set(['succeeded', 'failed', 'cancelled', 'expired']));
});
