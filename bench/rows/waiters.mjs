// What ten thousand parked claims cost: memory of the process, and queries that the database sees.

import pg from 'pg';
import { LONGEST_WAIT, parkingCrowd } from '../crowd.mjs';
import { pause } from '../measure.mjs';
import { claimOf, laneIds, makeLanes, openMuster } from '../muster.mjs';

/** Statements run in a database so far, as counted by the server itself. @param {pg.Client} client @param {string} name */
export async function transactionsIn(client, name) {
  const { rows } = await client.query({
    text: 'select xact_commit + xact_rollback as n from pg_stat_database where datname = $1',
    values: [name],
  });
  return Number(rows[0].n);
}

/**
 * Looks from another database, so that its own queries are not counted.
 * @param {string} url
 */
export async function observer(url) {
  const elsewhere = new URL(url);
  const name = elsewhere.pathname.slice(1);
  elsewhere.pathname = '/postgres';
  const client = new pg.Client({ connectionString: elsewhere.href });
  await client.connect();
  return { count: () => transactionsIn(client, name), end: () => client.end() };
}

export function memory() {
  for (let n = 0; n < 3; n += 1) globalThis.gc?.();
  return process.memoryUsage();
}

export default [
  {
    name: 'waiters-engine',
    title: 'Parked claims, engine',
    unit: 'bytes each',
    lower: true,
    uses: ['postgres'],
    execArgv: ['--expose-gc'],
    settings:
      'engine.claim() with waitMs on empty lanes, one per lane; resident memory / waiters; queries counted by pg_stat_database',
    async measure({ url, sizes }) {
      const muster = await openMuster(url);
      await makeLanes(muster, sizes.waiters);
      const lanes = await laneIds(muster);
      // one round without waiting: buffers and code that grow with any use do not belong to the waiters
      await Promise.all(lanes.map((lane) => muster.engine.claim(muster.db, claimOf(lane))));
      await pause(500);
      const before = memory();
      const waitMs = (sizes.watchSeconds + 30) * 1_000;
      const parked = lanes.map((lane) => muster.engine.claim(muster.db, { ...claimOf(lane), waitMs }));
      while (muster.engine.parkedWaiters < lanes.length) await pause(20);
      await pause(sizes.watchSeconds * 80);
      const after = memory();
      const watch = await observer(url);
      const first = await watch.count();
      await pause(sizes.watchSeconds * 1_000);
      const queries = (await watch.count()) - first;
      await watch.end();
      if (muster.engine.parkedWaiters !== lanes.length) throw new Error('Not all were parked to the end.');
      await muster.close();
      await Promise.all(parked);
      return {
        value: (after.rss - before.rss) / lanes.length,
        heap: (after.heapUsed - before.heapUsed) / lanes.length,
        queriesPerSecond: queries / sizes.watchSeconds,
        waiters: lanes.length,
      };
    },
  },
  {
    name: 'waiters-http',
    title: 'Parked claims, HTTP',
    unit: 'bytes each',
    lower: true,
    uses: ['postgres'],
    execArgv: ['--expose-gc'],
    settings:
      'POST /api/lanes/:lane/claim with wait on empty lanes, one connection and one lane each; resident memory of the server, its sockets included, / waiters; watched until the first of them is answered, because one request waits at most 25 s',
    async measure({ url, sizes }) {
      const { openServer } = await import('../server.mjs');
      const server = await openServer(url);
      await makeLanes(server, sizes.waiters);
      const crowd = parkingCrowd({ port: server.port, headers: server.headers, count: sizes.waiters });
      // one round without waiting: every lane is known, all code has run, the sockets are closed again
      await crowd.park(0);
      await crowd.leave();
      await pause(500);
      const before = memory();
      const began = performance.now();
      await crowd.park(LONGEST_WAIT);
      while (server.engine.parkedWaiters < sizes.waiters) await pause(20);
      // a database session reports its statistics up to ten seconds late
      await pause(Math.min(11_000, sizes.watchSeconds * 400));
      // the first one is answered after nine tenths of its wait at the earliest; all must be parked by then
      const left = LONGEST_WAIT * 0.9 - (performance.now() - began) / 1_000 - 1;
      const watchSeconds = Math.min(sizes.watchSeconds, left);
      if (watchSeconds < Math.min(sizes.watchSeconds, 3)) throw new Error('They were parked too slowly.');
      const after = memory();
      const watch = await observer(url);
      const first = await watch.count();
      await pause(watchSeconds * 1_000);
      const queries = (await watch.count()) - first;
      await watch.end();
      if (server.engine.parkedWaiters !== sizes.waiters) throw new Error('Not all were parked to the end.');
      await crowd.leave();
      crowd.end();
      await server.close();
      return {
        value: (after.rss - before.rss) / sizes.waiters,
        heap: (after.heapUsed - before.heapUsed) / sizes.waiters,
        queriesPerSecond: queries / watchSeconds,
        waiters: sizes.waiters,
      };
    },
  },
];
