// Muster through the engine's API, on both databases.

import pg from 'pg';
import { cpuOf } from '../cpu.mjs';
import { quantile, rateOf } from '../measure.mjs';
import {
  claimOf,
  fill,
  laneIds,
  leaseAll,
  leases,
  makeLanes,
  newAction,
  openMuster,
  reportOf,
} from '../muster.mjs';

const MANY = 500;

/**
 * A PostgreSQL row starts from a template; the embedded database is filled on the spot.
 * @param {'postgres' | 'pglite'} database
 * @param {'lanes' | 'pending' | 'leased'} template
 */
async function prepared(database, template, { url, sizes }) {
  if (database === 'postgres') return openMuster(url);
  const muster = await openMuster(null);
  await makeLanes(muster, sizes.embeddedLanes);
  if (template !== 'lanes') await fill(muster, sizes.perLane);
  if (template === 'leased') await leaseAll(muster);
  return muster;
}

/**
 * Report-and-claim cycles by concurrent callers, each with its own lanes, until the time or the work has run out.
 * @param {import('../muster.mjs').Muster} muster
 * @param {import('../options.mjs').Sizes} sizes
 */
export async function fusedRate(muster, sizes) {
  const { db, engine } = muster;
  const all = await leases(muster);
  // each caller cycles through its own lanes, so that a statement gets lanes from everywhere
  const own = Array.from({ length: sizes.callers }, () => ({ lanes: /** @type {typeof all} */ ([]), at: 0 }));
  all.forEach((lease, n) => {
    own[n % sizes.callers]?.lanes.push(lease);
  });
  return rateOf({
    ...sizes,
    async call(caller) {
      const mine = own[caller];
      if (!mine || mine.lanes.length === 0) return -1;
      mine.at = (mine.at + 1) % mine.lanes.length;
      const lease = mine.lanes[mine.at];
      if (!lease) return -1;
      const { accepted, next } = await engine.report(db, reportOf(lease));
      if (!accepted) throw new Error(`The report of action ${lease.actionId} was not accepted.`);
      if (next) mine.lanes[mine.at] = { laneId: lease.laneId, actionId: next.id, attempt: next.attempt };
      else mine.lanes.splice(mine.at, 1);
      return 1;
    },
  });
}

/**
 * Report-and-claim, with the bytes of WAL that each one writes, page images included.
 * @param {string} url @param {import('../muster.mjs').Muster} muster @param {import('../options.mjs').Sizes} sizes
 */
async function fusedRateAndWal(url, muster, sizes) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const ask = async () =>
    (
      await client.query(`select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes,
        (select count(*) from muster.endings) as endings`)
    ).rows[0];
  const before = await ask();
  const rate = await fusedRate(muster, sizes);
  const after = await ask();
  await client.end();
  return { ...rate, walPerCycle: (after.bytes - before.bytes) / (after.endings - before.endings) };
}

/**
 * One caller, one report at a time: the cost of its statement on the server, including the commit.
 * @param {string} url @param {import('../options.mjs').Sizes} sizes
 */
async function reportAlone(url, sizes) {
  const muster = await openMuster(url);
  const all = (await leases(muster)).slice(0, sizes.samples);
  const report = async (/** @type {(typeof all)[number]} */ lease) => {
    const { accepted } = await muster.engine.report(muster.db, reportOf(lease));
    if (!accepted) throw new Error(`The report of action ${lease.actionId} was not accepted.`);
  };
  const warmUp = Math.ceil(all.length / 5);
  for (const lease of all.slice(0, warmUp)) await report(lease);
  const { rows } = await muster.db.query({
    text: `select pid from pg_stat_activity where datname = current_database() and application_name = 'muster gathered'`,
  });
  const pids = rows.map(({ pid }) => pid);
  const taken = [];
  for (const lease of all.slice(warmUp)) {
    const before = cpuOf(pids);
    await report(lease);
    taken.push(cpuOf(pids) - before);
  }
  await muster.close();
  return { value: quantile(taken, 0.5), p50: quantile(taken, 0.5), p99: quantile(taken, 0.99) };
}

/** @param {'postgres' | 'pglite'} database */
const rowsOn = (database) => {
  const name = database === 'postgres' ? 'PostgreSQL' : 'PGlite';
  const uses = database === 'postgres' ? ['postgres'] : ['pglite'];
  const on = (/** @type {'lanes' | 'pending' | 'leased'} */ template) =>
    database === 'postgres' ? { uses, template, node: /** @type {const} */ ('as peers') } : { uses };
  return [
    {
      name: `engine-enqueue-${database}`,
      title: `Muster engine, single enqueues, ${name}`,
      unit: 'actions/s',
      ...on('lanes'),
      settings: 'engine.enqueue() of one action by all callers, over all lanes in turn',
      async measure(given) {
        const muster = await prepared(database, 'lanes', given);
        const lanes = await laneIds(muster);
        let at = 0;
        const rate = await rateOf({
          ...given.sizes,
          async call() {
            at = (at + 1) % lanes.length;
            await muster.engine.enqueue(muster.db, newAction(String(lanes[at])));
            return 1;
          },
        });
        await muster.close();
        return rate;
      },
    },
    {
      name: `engine-enqueue-many-${database}`,
      title: `Muster engine, enqueueMany, ${name}`,
      unit: 'actions/s',
      ...on('lanes'),
      settings: `engine.enqueueMany() of ${MANY} actions by 2 callers`,
      async measure(given) {
        const muster = await prepared(database, 'lanes', given);
        const lanes = await laneIds(muster);
        let at = 0;
        const rate = await rateOf({
          ...given.sizes,
          callers: 2,
          async call() {
            const actions = [];
            for (let n = 0; n < MANY; n += 1) {
              at = (at + 1) % lanes.length;
              actions.push(newAction(String(lanes[at])));
            }
            const answers = await muster.engine.enqueueMany(muster.db, actions);
            if (answers.some((answer) => answer instanceof Error)) return -1;
            return MANY;
          },
        });
        await muster.close();
        return rate;
      },
    },
    {
      name: `engine-claim-${database}`,
      title: `Muster engine, claims, ${name}`,
      unit: 'claims/s',
      ...on('pending'),
      settings: 'engine.claim() by all callers, each lane once',
      async measure(given) {
        const muster = await prepared(database, 'pending', given);
        const lanes = await laneIds(muster);
        let at = 0;
        const rate = await rateOf({
          ...given.sizes,
          // every lane has only one action, so the warm-up is short
          warmUpSeconds: given.sizes.warmUpSeconds / 20,
          callers: Math.min(given.sizes.callers, Math.ceil(lanes.length / 10)),
          async call() {
            const lane = lanes[at];
            if (lane === undefined) return -1;
            at += 1;
            if ((await muster.engine.claim(muster.db, claimOf(lane))) === null)
              throw new Error(`Lane ${lane} handed out nothing.`);
            return 1;
          },
        });
        await muster.close();
        return rate;
      },
    },
    {
      name: `engine-fused-${database}`,
      title: `Muster engine, report and claim, ${name}`,
      unit: 'cycles/s',
      ...on('leased'),
      settings:
        'engine.report() with next by all callers, each going round its own lanes; ten actions per lane',
      async measure(given) {
        const muster = await prepared(database, 'leased', given);
        const rate = await (database === 'postgres'
          ? fusedRateAndWal(given.url, muster, given.sizes)
          : fusedRate(muster, given.sizes));
        await muster.close();
        return rate;
      },
    },
  ];
};

const alone = {
  name: 'engine-report-alone',
  title: 'Muster engine, a statement with one report, time of PostgreSQL',
  unit: 'ms',
  lower: true,
  uses: ['postgres'],
  template: 'leased',
  settings:
    'engine.report() with next by one caller; processor time of the session that carries it out, its commit included',
  measure: (/** @type {import('../rows.mjs').Task} */ { url, sizes }) => reportAlone(url, sizes),
};

export default [...rowsOn('postgres'), alone, ...rowsOn('pglite')];
