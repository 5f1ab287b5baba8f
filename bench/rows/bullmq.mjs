// BullMQ on Redis: single adds by concurrent callers, and the processing of the added jobs.

import { drainRate, payload, rateOf } from '../measure.mjs';

const CONCURRENCY = 100;
const kept = { removeOnComplete: true, removeOnFail: true };

/** @param {number} port @param {'everysec' | 'always'} [fsync] */
async function connect(port, fsync = 'everysec') {
  const { default: IORedis } = await import('ioredis');
  const redis = new IORedis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
  await redis.flushall();
  await redis.config('SET', 'appendfsync', fsync);
  return redis;
}

/** @param {'everysec' | 'always'} fsync */
const add =
  (fsync) =>
  async ({ redisPort, sizes }) => {
    const { Queue } = await import('bullmq');
    const connection = await connect(redisPort, fsync);
    const queue = new Queue('bench', { connection, defaultJobOptions: kept });
    await queue.waitUntilReady();
    const rate = await rateOf({
      ...sizes,
      async call() {
        await queue.add('bench', payload);
        return 1;
      },
    });
    await queue.close();
    await connection.quit();
    return rate;
  };

export default [
  {
    name: 'bullmq-add',
    title: 'BullMQ on Redis, single adds',
    unit: 'jobs/s',
    uses: ['redis'],
    node: 'newer',
    versionOf: 'bullmq',
    settings:
      'queue.add() by all callers over one connection (ioredis), append-only file synced every second',
    measure: add('everysec'),
  },
  {
    name: 'bullmq-add-synced',
    title: 'BullMQ on Redis, single adds, synced like a commit',
    unit: 'jobs/s',
    uses: ['redis'],
    node: 'newer',
    versionOf: 'bullmq',
    settings: 'the same with appendfsync always',
    measure: add('always'),
  },
  {
    name: 'bullmq-process',
    title: 'BullMQ on Redis, processing',
    unit: 'jobs/s',
    uses: ['redis'],
    node: 'newer',
    versionOf: 'bullmq',
    settings: `one Worker with concurrency ${CONCURRENCY}, finished jobs removed, append-only file synced every second; no order per key`,
    async measure({ redisPort, sizes }) {
      const { Queue, Worker } = await import('bullmq');
      const connection = await connect(redisPort);
      const queue = new Queue('bench', { connection, defaultJobOptions: kept });
      const total = Math.ceil(sizes.peerJobs / 2);
      for (let done = 0; done < total; done += 1_000)
        await queue.addBulk(
          Array.from({ length: Math.min(1_000, total - done) }, () => ({ name: 'bench', data: payload })),
        );
      let done = 0;
      const worker = new Worker(
        'bench',
        async () => {
          done += 1;
        },
        { connection: connection.duplicate(), concurrency: CONCURRENCY },
      );
      worker.on('error', (error) => console.error('bullmq:', error));
      return drainRate({ ...sizes, total, count: () => done });
    },
  },
];
