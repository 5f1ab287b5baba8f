// Single requests that put an action into a lane: over the generic route, and over GraphQL, where it is an assignment to a device
// with its batch, its execution, its milestone and its trigger.

import { makePhones } from '../fleet.mjs';
import { underLoad } from '../load.mjs';

const ASSIGN =
  'mutation ($id: ID!) { assignAction(deviceId: $id, actionId: 5) { executionId batchId status } }';

/** @param {number} n */
const enqueue = (n) => ({
  path: `/api/lanes/lane-${n}/actions`,
  body: JSON.stringify({ kind: 'bench', payload: { hello: true } }),
});

/** @param {number} n */
const assign = (n) => ({
  path: '/graphql',
  body: JSON.stringify({ query: ASSIGN, variables: { id: String(n) } }),
});

/**
 * @param {import('../rows.mjs').Task} task
 * @param {(n: number) => { path: string, body: string }} request for the device or lane of this number
 */
async function singleRequests({ url, sizes }, request) {
  const { openServer } = await import('../server.mjs');
  const server = await openServer(url);
  await makePhones(server);
  const { rows } = await server.db.query({ text: 'select device_id from muster.devices order by device_id' });
  const result = await underLoad({
    ...sizes,
    port: server.port,
    headers: server.headers,
    each: rows.map((row) => ({ method: 'POST', ...request(Number(row.device_id)) })),
  });
  await server.close();
  return { ...result, connections: sizes.connections };
}

export default [
  {
    name: 'http-enqueue',
    title: 'Muster over HTTP, single enqueues',
    unit: 'requests/s',
    uses: ['postgres'],
    template: 'devices',
    settings:
      'POST /api/lanes/:lane/actions, a lane of its own each, made by the request; connections as the bare route',
    /** @param {import('../rows.mjs').Task} task */
    measure: (task) => singleRequests(task, enqueue),
  },
  {
    name: 'graphql-assign',
    title: 'GraphQL assignAction, single ones',
    unit: 'requests/s',
    uses: ['postgres'],
    template: 'devices',
    settings:
      'as http-enqueue, a device of its own each; the triggers and commands that follow are taken meanwhile, by a layer that knows none of the devices',
    /** @param {import('../rows.mjs').Task} task */
    measure: (task) => singleRequests(task, assign),
  },
];
