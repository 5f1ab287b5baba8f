// graphile-worker with the settings of its own page on performance. Jobs are added first, then drained.
// Imported only when it runs: it needs a newer Node than Muster.

import pg from 'pg';
import { drainRate, payload, rateOf } from '../measure.mjs';

const preset = { concurrentJobs: 24, maxPoolSize: 25 };
const batching = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const LOCAL_QUEUE = 500;
const MANY = 500;
const LONG_LOCAL_QUEUE = 5_000;
const told = `concurrentJobs ${preset.concurrentJobs}, maxPoolSize ${preset.maxPoolSize}`;

async function library() {
  const worker = await import('graphile-worker');
  return { ...worker, logger: new worker.Logger(() => () => {}) };
}

/** @param {string} url @param {number} jobs @param {string} queueName SQL over the number n */
async function addJobs(url, jobs, queueName) {
  const { logger, makeWorkerUtils } = await library();
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  await utils.release();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let done = 0; done < jobs; done += 50_000) {
    await client.query({
      text: `select count(*) from graphile_worker.add_jobs(array(
        select row('bench', $3::json, ${queueName}, now(), 25, null, 0, null)::graphile_worker.job_spec
        from generate_series($1::int, $2::int) n))`,
      values: [done + 1, Math.min(done + 50_000, jobs), JSON.stringify(payload)],
    });
  }
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

/**
 * @param {{ url: string, sizes: import('../options.mjs').Sizes }} on
 * @param {number} jobs
 * @param {object} more settings
 */
async function drain({ url, sizes }, jobs, more = {}) {
  const { logger, run } = await library();
  let done = 0;
  const runner = await run({
    preset: { worker: { ...preset, ...more, connectionString: url, logger } },
    noHandleSignals: true,
    taskList: {
      async bench() {
        done += 1;
      },
    },
  });
  const rate = await drainRate({ ...sizes, total: jobs, count: () => done });
  // the rest does not matter: the process ends
  void runner;
  return rate;
}

/** @param {Parameters<import('../rows.mjs').Row['measure']>[0]} on @param {object} more */
async function drainInOrder(on, more) {
  const jobs = on.sizes.lanes * on.sizes.perLane;
  await addJobs(on.url, jobs, `'key ' || (n % ${on.sizes.lanes})`);
  return drain(on, jobs, more);
}

/** As many in one call as enqueueMany gets, by as many callers. @param {{ url: string, sizes: import('../options.mjs').Sizes }} on */
async function addMany({ url, sizes }) {
  const { logger, makeWorkerUtils } = await library();
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  const specs = Array.from({ length: MANY }, () => ({ identifier: 'bench', payload }));
  const rate = await rateOf({
    ...sizes,
    callers: 2,
    async call() {
      await utils.addJobs(specs);
      return MANY;
    },
  });
  await utils.release();
  return rate;
}

const shape = 'drain of jobs in named queues, as many queues as lanes and ten jobs in each';

export default [
  {
    name: 'graphile-add-many',
    title: 'graphile-worker, addJobs',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'graphile-worker',
    settings: `addJobs() of ${MANY} jobs without a queue by 2 callers`,
    measure: addMany,
  },
  {
    name: 'graphile-unordered',
    title: 'graphile-worker, unordered',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'graphile-worker',
    settings: `drain of jobs without a queue; ${told}, completeJobBatchDelay 0, localQueue.size ${LOCAL_QUEUE}`,
    async measure(on) {
      await addJobs(on.url, on.sizes.peerJobs, 'null');
      return drain(on, on.sizes.peerJobs, { ...batching, localQueue: { size: LOCAL_QUEUE } });
    },
  },
  {
    name: 'graphile-queue-per-key',
    title: 'graphile-worker, one queue per key, batching',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'graphile-worker',
    settings: `${shape}; ${told}, completeJobBatchDelay 0, localQueue.size ${LONG_LOCAL_QUEUE} (faster here than ${LOCAL_QUEUE})`,
    measure: (on) => drainInOrder(on, { ...batching, localQueue: { size: LONG_LOCAL_QUEUE } }),
  },
  {
    name: 'graphile-queue-defaults',
    title: 'graphile-worker, one queue per key, no batching',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'graphile-worker',
    settings: `${shape}; ${told}, no local queue and no batched completion, which is the default`,
    measure: (on) => drainInOrder(on, {}),
  },
];
