// Muster through the engine's API, on both databases.

import { rateOf } from '../measure.mjs';
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
 * Report-and-claim cycles by concurrent callers, each with lanes of its own, until the time or the work is over.
 * @param {import('../muster.mjs').Muster} muster
 * @param {import('../options.mjs').Sizes} sizes
 */
export async function fusedRate(muster, sizes) {
  const { db, engine } = muster;
  const all = await leases(muster);
  // each caller goes round its own lanes, so that neighbours in a statement are lanes from everywhere
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

/** @param {'postgres' | 'pglite'} database */
const rowsOn = (database) => {
  const name = database === 'postgres' ? 'PostgreSQL' : 'PGlite';
  const uses = database === 'postgres' ? ['postgres'] : ['pglite'];
  const on = (/** @type {'lanes' | 'pending' | 'leased'} */ template) =>
    database === 'postgres' ? { uses, template } : { uses };
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
          // every lane hands out one action only, so the warm-up is short
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
        const rate = await fusedRate(muster, given.sizes);
        await muster.close();
        return rate;
      },
    },
  ];
};

export default [...rowsOn('postgres'), ...rowsOn('pglite')];
