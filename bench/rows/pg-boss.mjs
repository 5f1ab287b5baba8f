// pg-boss: its workers in batches, and single fetches and completions by concurrent callers.
// Imported only when it runs: it needs a newer Node than Muster.

import pg from 'pg';
import { drainRate, payload, rateOf } from '../measure.mjs';

const BATCH = 100;
const WORKERS = 4;
const CALLERS = 20;

/**
 * @param {string} url @param {number} jobs
 * @param {{ policy?: string, key?: (n: number) => string }} [options]
 */
async function bossWithJobs(url, jobs, { policy, key } = {}) {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, max: CALLERS, supervise: false, schedule: false });
  boss.on('error', (error) => console.error('pg-boss:', error));
  await boss.start();
  await boss.createQueue('bench', policy ? { policy } : {});
  for (let done = 0; done < jobs; done += 10_000) {
    const batch = Array.from({ length: Math.min(10_000, jobs - done) }, (_, n) => ({
      data: payload,
      ...(key ? { singletonKey: key(done + n) } : {}),
    }));
    await boss.insert('bench', batch);
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
  return boss;
}

/** @param {import('pg-boss').PgBoss} boss @param {import('../options.mjs').Sizes} sizes @param {number} total */
async function drain(boss, sizes, total) {
  let done = 0;
  await boss.work(
    'bench',
    { batchSize: BATCH, localConcurrency: WORKERS, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    async (jobs) => {
      done += jobs.length;
    },
  );
  return drainRate({ ...sizes, total, count: () => done });
}

const inBatches = `work() with batchSize ${BATCH}, localConcurrency ${WORKERS}, burstWhenBatchFull`;

export default [
  {
    name: 'pg-boss-batches',
    title: `pg-boss, batches of ${BATCH}`,
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'pg-boss',
    settings: `${inBatches}; no order per key`,
    async measure({ url, sizes }) {
      const jobs = Math.ceil(sizes.peerJobs / 2);
      return drain(await bossWithJobs(url, jobs), sizes, jobs);
    },
  },
  {
    name: 'pg-boss-single',
    title: 'pg-boss, one by one',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'pg-boss',
    settings: `fetch() and complete() of one job by ${CALLERS} concurrent callers, pool of ${CALLERS}`,
    async measure({ url, sizes }) {
      const boss = await bossWithJobs(url, Math.ceil(sizes.peerJobs / 4));
      return rateOf({
        ...sizes,
        callers: CALLERS,
        async call() {
          const [job] = await boss.fetch('bench');
          if (!job) return -1;
          await boss.complete('bench', job.id);
          return 1;
        },
      });
    },
  },
  {
    name: 'pg-boss-fifo-per-key',
    title: 'pg-boss, in order per key',
    unit: 'jobs/s',
    uses: ['postgres'],
    node: 'newer',
    versionOf: 'pg-boss',
    settings: `queue policy key_strict_fifo, as many keys as lanes; ${inBatches}`,
    async measure({ url, sizes }) {
      const jobs = Math.ceil(sizes.peerJobs / 4);
      const boss = await bossWithJobs(url, jobs, {
        policy: 'key_strict_fifo',
        key: (n) => `key ${n % sizes.lanes}`,
      });
      return drain(boss, sizes, jobs);
    },
  },
];
