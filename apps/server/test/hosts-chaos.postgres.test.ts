import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type AgentStage, agentStage } from '../testing/agent-stage.ts';
import { until } from '../testing/process-stage.ts';

/** Server and agent are killed and started again and again while actions are queued. */
vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

let stage: AgentStage;
beforeAll(async () => {
  stage = await agentStage();
});
afterAll(() => stage.close());

const SERVICES = 5;
const ACTIONS = 40;
const KILLS = 6;
const FINAL = ['SUCCEEDED', 'FAILED_FINAL', 'CANCELLED', 'EXPIRED'];

it('every acknowledged action ends exactly once, in order, and no attempt runs twice', async () => {
  const services: string[] = [];
  for (let n = 0; n < SERVICES; n += 1) services.push(await stage.service(`short-${n}.service`));
  await stage.agent.start();

  const acknowledged = new Map<string, string[]>();
  const queueing = (async () => {
    for (let n = 0; n < ACTIONS; n += 1) {
      const service = services[n % SERVICES] as string;
      // the server may be down, or die before its answer: the key makes sure that it is queued once
      const id = await until(() => stage.queue(service, 'restart', `action ${n}`).catch(() => null));
      acknowledged.set(service, [...(acknowledged.get(service) ?? []), id]);
    }
  })();

  // measured in calls of the fake systemctl, not in time, so that something is always running
  for (let n = 0; n < KILLS; n += 1) {
    const before = stage.record().length;
    await until(() => stage.record().length > before + 1);
    const victim = n % 3 === 2 ? stage.server : stage.agent;
    await victim.kill();
    await victim.start();
  }
  await queueing;

  const all = [...acknowledged.values()].flat();
  expect(new Set(all).size).toBe(ACTIONS);
  for (const id of all) {
    const action = await until(async () => {
      const found = await stage.look(id);
      return ['succeeded', 'failed'].includes(found.status) ? found : null;
    });
    const types: string[] = action.events.map(({ type }: { type: string }) => type);
    expect(
      types.filter((type) => FINAL.includes(type)),
      JSON.stringify(action),
    ).toHaveLength(1);
    // every failure was caused by a killed agent
    if (action.status === 'failed') expect(action.message).toMatch(/^INTERRUPTED/);
  }

  const runs = stage.record().map(({ id, attempt }) => `${id} ${attempt}`);
  expect(new Set(runs).size).toBe(runs.length);
  expect(stage.overlaps()).toEqual([]);
  for (const ids of acknowledged.values()) {
    const firsts = stage.record().filter(({ id, attempt }) => attempt === 1 && ids.includes(id));
    const order = firsts.map(({ id }) => id);
    expect(order).toEqual(ids.filter((id) => order.includes(id)));
  }
});
