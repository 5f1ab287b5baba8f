import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { hostsCrowd } from '../testing/hosts-crowd.mjs';
import { type House, hostsHouse, OPERATOR } from '../testing/hosts-house.ts';
import { manyHosts } from '../testing/many-hosts.mjs';

/** Thousands of agents wait at one server process. The cost is printed; the test checks that every agent gets its action. */
vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

// MUSTER_TEST_AGENTS=10000 is the promised size; it takes four times as long
const AGENTS = Number(process.env.MUSTER_TEST_AGENTS ?? 2_500);
const ACTIONS = 1_000;
const AT_ONCE = 4;

let house: House;
beforeAll(async () => {
  house = await hostsHouse();
});
afterAll(() => house.close());

const isOfAgents = (text: string) => /claim|token|service|held/.test(text);

function memory(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < 3; n += 1) collect();
  return process.memoryUsage();
}

it('thousands of waiting agents cost no statement, and each of a thousand gets its action', async () => {
  const hosts = await manyHosts(house.engine.db, AGENTS);
  const crowd = hostsCrowd({
    port: Number(new URL(house.url).port),
    operator: OPERATOR,
    tokens: hosts.map(({ token }) => token),
  });
  try {
    await crowd.connect();
    const before = memory();
    // on a very busy machine the first one may be answered empty before the last one is parked: then all poll again
    for (;;) {
      await crowd.park(25);
      while (house.engine.parkedWaiters + (await crowd.idle()) < AGENTS)
        await new Promise((resolve) => setTimeout(resolve, 20));
      if (house.engine.parkedWaiters === AGENTS) break;
      while (house.engine.parkedWaiters > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const after = memory();
    // a waiter is counted before its first look: the last looks may still be running
    for (let n = -1; n !== house.statements.filter(isOfAgents).length; ) {
      n = house.statements.filter(isOfAgents).length;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    const first = house.statements.length;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const meanwhile = house.statements.slice(first);
    // the leader's turn once a second, and the last contacts of all hosts once a minute
    const ofAgents = meanwhile.filter(isOfAgents);

    const chosen = hosts.slice(0, ACTIONS).map(({ hostId, serviceId }, agent) => ({
      agent,
      path: `/api/hosts/${hostId}/actions`,
      body: { serviceId, kind: 'restart' },
    }));
    const { sentMs, answers, others } = await crowd.deliver(chosen, AT_ONCE);
    const sorted = sentMs.sort((a, b) => a - b);
    const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1);
    console.log(
      `${AGENTS} agents wait: ${Math.round((after.rss - before.rss) / AGENTS)} bytes of memory each ` +
        `(${Math.round((after.heapUsed - before.heapUsed) / AGENTS)} of heap), ` +
        `${ofAgents.length} statements for them in 3 s (${meanwhile.length} of housekeeping). ` +
        `${ACTIONS} actions from POST to agent: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms.`,
    );
    expect(ofAgents).toEqual([]);
    expect([answers, others]).toEqual([ACTIONS, 0]);
  } finally {
    crowd.end();
  }
});
