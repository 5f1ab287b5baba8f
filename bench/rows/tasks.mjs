// Runner PCs: how soon a free slot is filled again, how many devices a second a thousand PCs process, and the cost of a
// task for many devices.

import { quantile } from '../measure.mjs';
import { runners, WARM_UP_PCS } from '../runner-crowd.mjs';

/**
 * A server with PCs, and the devices of the fleet distributed over them.
 * @param {string} url @param {number} count
 */
async function withPcs(url, count) {
  const { openServer } = await import('../server.mjs');
  const server = await openServer(url);
  /** @param {string} path @param {object} body @returns {Promise<any>} */
  const post = async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.status !== 201) throw new Error(JSON.stringify(answer));
    return answer;
  };
  /** @type {{ id: string, token: string }[]} */
  const pcs = [];
  for (let n = 0; n < count; n += 1) {
    const { id, runnerToken } = await post('/api/pcs', { name: `pc ${n}` });
    pcs.push({ id, token: runnerToken });
  }
  await server.db.query({
    text: `with p as materialized (select pc_id, runner_id, row_number() over (order by pc_id) - 1 as n from muster.pcs),
      d as (
        update muster.devices d set pc_id = p.pc_id from p where p.n = d.device_id % $1::int returning d.lane_id, p.runner_id
      )
      update muster.lanes l set runner_id = d.runner_id, ver = l.ver + 1 from d where l.tenant_id = 1 and l.lane_id = d.lane_id`,
    values: [count],
  });
  await server.db.query({ text: 'analyze' });
  return { server, pcs, post };
}

/** A hundred devices each. @param {import('../options.mjs').Sizes} sizes */
const manyPcs = (sizes) => Math.ceil(sizes.lanes / 100);

const forAll = { name: 'bench', kind: 'bench', payload: { hello: true }, targets: { all: true } };

/** @param {import('../rows.mjs').Task} task @param {(devices: string[]) => object} targets */
async function creation({ url }, targets) {
  const { server, post } = await withPcs(url, 1);
  const { rows } = await server.db.query({
    text: 'select device_id from muster.devices order by 1 limit 10',
  });
  const devices = rows.map((row) => row.device_id);
  // the first one becomes active and resolves its targets; the measured ones wait behind it
  await post('/api/tasks', { ...forAll, targets: { deviceIds: [devices[0]] } });
  /** @type {number[]} */
  const taken = [];
  for (let n = 0; n < 100; n += 1) {
    const began = performance.now();
    await post('/api/tasks', { ...forAll, targets: targets(devices) });
    taken.push(performance.now() - began);
  }
  await server.close();
  return { value: quantile(taken, 0.5), p50: quantile(taken, 0.5), p99: quantile(taken, 0.99) };
}

export default [
  {
    name: 'tasks-refill',
    title: 'Device ended to the next one at the waiting runner, p99',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    template: 'devices',
    settings:
      'a hundred devices per PC, fifty PCs at work with twenty slots, all taken; a claim waits; from POST …/complete of one device to the answer of the claim; one PC at a time; the first five do not count',
    /** @param {import('../rows.mjs').Task} task */
    async measure({ url, sizes }) {
      const { server, pcs, post } = await withPcs(url, manyPcs(sizes));
      await post('/api/tasks', forAll);
      const result = await runners({
        port: server.port,
        pcs: pcs.slice(0, 50 + WARM_UP_PCS),
        refill: { samples: Math.min(1_000, sizes.samples), atOnce: 1 },
      });
      await server.close();
      return result;
    },
  },
  {
    name: 'tasks-drain',
    title: 'Devices of a task ended and the next taken, a thousand PCs',
    unit: 'devices/s',
    uses: ['postgres'],
    template: 'devices',
    settings:
      'POST …/complete with claim {max: 1}, a thousand PCs in turn over the connections; events and counts kept',
    /** @param {import('../rows.mjs').Task} task */
    async measure({ url, sizes }) {
      const { server, pcs, post } = await withPcs(url, manyPcs(sizes));
      await post('/api/tasks', forAll);
      const { warmUpSeconds, seconds, connections } = sizes;
      const result = await runners({
        port: server.port,
        pcs,
        drain: { callers: connections, warmUpSeconds, seconds },
      });
      await server.close();
      return { ...result, pcs: pcs.length };
    },
  },
  {
    name: 'tasks-create-ten',
    title: 'Creating a task for ten devices, p50',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    template: 'devices',
    settings: 'POST /api/tasks, one after the other, behind an active task',
    /** @param {import('../rows.mjs').Task} task */
    measure: (task) => creation(task, (deviceIds) => ({ deviceIds })),
  },
  {
    name: 'tasks-create-all',
    title: 'Creating a task for every device, p50',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    template: 'devices',
    settings: 'the same with {"all": true} over all devices of the fleet',
    /** @param {import('../rows.mjs').Task} task */
    measure: (task) => creation(task, () => ({ all: true })),
  },
];
