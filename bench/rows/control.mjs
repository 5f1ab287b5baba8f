// Agents that wait at the hosts door: how long an action takes from POST to its agent, compared with a server that
// looks every 500 ms; and how long an answer takes when work is waiting already. Clients are in a separate process.

import { hostsCrowd } from '../../apps/server/testing/hosts-crowd.mjs';
import { manyHosts } from '../../apps/server/testing/many-hosts.mjs';
import { pause, quantiles } from '../measure.mjs';

const MOST_SAMPLES = 1_000;
/** Not counted: the first ones measure how soon plans are made and code is compiled. */
const WARM_UP = 500;

/** @param {string} url @param {number} agents */
async function openControl(url, agents) {
  const { openServer } = await import('../server.mjs');
  const server = await openServer(url);
  const hosts = await manyHosts(server.db, agents);
  await server.db.query({ text: 'analyze' });
  const crowd = hostsCrowd({
    port: server.port,
    operator: server.headers.authorization.slice('Bearer '.length),
    tokens: hosts.map(({ token }) => token),
  });
  await crowd.connect();
  const orders = hosts.map(({ hostId, serviceId }, agent) => ({
    agent,
    path: `/api/hosts/${hostId}/actions`,
    body: { serviceId, kind: 'restart' },
  }));
  return { server, crowd, orders };
}

/** @param {string} url @param {number} agents */
async function pollingLatency(url, agents) {
  const { openPollingServer } = await import('../polling-server.mjs');
  const server = await openPollingServer(url, agents);
  const crowd = hostsCrowd({ port: server.port, operator: 'nobody', tokens: server.tokens });
  await crowd.connect();
  await crowd.park(25);
  await pause(2_000);
  const samples = Math.min(200, agents);
  const orders = server.hostIds
    .slice(0, samples)
    .map((hostId, agent) => ({ agent, path: `/api/hosts/${hostId}/actions`, body: {} }));
  const { sentMs } = await crowd.deliver(orders, 16);
  crowd.end();
  await server.close();
  return { ...quantiles(sentMs), agents };
}

/** @param {string} url @param {number} agents @param {number} atOnce */
async function wakeUps(url, agents, atOnce) {
  const { server, crowd, orders } = await openControl(url, agents);
  await crowd.park(25);
  while (server.engine.parkedWaiters < agents) await pause(20);
  const warmUp = Math.min(WARM_UP, Math.floor(agents / 10));
  await crowd.deliver(orders.slice(0, warmUp), atOnce);
  const { sentMs, others } = await crowd.deliver(orders.slice(warmUp, warmUp + MOST_SAMPLES), atOnce);
  if (others > warmUp) throw new Error(`${others} agents got an action that was not theirs.`);
  crowd.end();
  await server.close();
  return { ...quantiles(sentMs), agents };
}

export default [
  {
    name: 'control-wake-up',
    title: 'Action to a waiting agent, p99',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    settings:
      'ten thousand agents wait with GET /api/control/queue?wait=25, one connection each; from POST /api/hosts/:hostId/actions to the last byte at the agent; one operator, one action at a time, 500 before the first that counts',
    measure: ({ url, sizes }) => wakeUps(url, sizes.waiters, 1),
  },
  {
    name: 'control-wake-up-four',
    title: 'The same with four operators at once, p99',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    settings: 'as the row before, four operators, each one action at a time: the two cores are busy',
    measure: ({ url, sizes }) => wakeUps(url, sizes.waiters, 4),
  },
  {
    name: 'control-work-there',
    title: 'Answer to a poll when work is there, p99',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    settings:
      'nine tenths of the agents wait, the others poll one after the other for an action that was queued before; a new connection each, its first request not measured',
    async measure({ url, sizes }) {
      const { server, crowd, orders } = await openControl(url, sizes.waiters);
      const samples = Math.min(MOST_SAMPLES, Math.ceil(sizes.waiters / 10));
      await queueFor(server, orders.slice(0, samples));
      await crowd.parkFrom(samples, 25);
      while (server.engine.parkedWaiters < sizes.waiters - samples) await pause(20);
      const { sentMs, answers } = await crowd.ask(samples);
      if (answers !== samples) throw new Error(`Only ${answers} of ${samples} polls brought an action.`);
      crowd.end();
      await server.close();
      return { ...quantiles(sentMs), agents: sizes.waiters };
    },
  },
  {
    name: 'control-polling-tenth',
    title: 'The same from a server that looks every 500 ms, a tenth of the agents, p99',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    settings:
      'see bench/polling-server.mjs; otherwise as the action to a waiting agent, 16 operators, 200 actions',
    measure: ({ url, sizes }) => pollingLatency(url, Math.ceil(sizes.waiters / 10)),
  },
];

/** @param {Awaited<ReturnType<typeof openControl>>['server']} server @param {Awaited<ReturnType<typeof openControl>>['orders']} orders */
async function queueFor(server, orders) {
  for (const { path, body } of orders) {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(await response.text());
    await response.arrayBuffer();
  }
}
