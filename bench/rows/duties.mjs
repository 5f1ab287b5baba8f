// How long housekeeping takes to end leases, to expire and to make due, among a million lanes and among ten thousand, measured
// in turns, round by round.

import { createEngine, openPostgres } from '@muster/engine';
import { quantile } from '../measure.mjs';

const ROUNDS = 20;
/** As many as a round of a duty takes at most. */
const DUE = 500;
const DUTIES = /** @type {const} */ (['end-leases', 'expire', 'make-due']);

/** Of other lanes in each round: its lease is over, what waits in it has expired, or is due. @param {number} from */
const makeDue = (from) => `
  with l as (
    update muster.lanes set lease_until = now() - interval '1 second', check_at = now() - interval '1 second'
    where lane_id >= ${from} and lane_id < ${from + DUE}
  ), e as (
    update muster.pending set deliver_by = now() - interval '1 second', delayed = false, not_before = null
    where lane_id >= ${from + DUE} and lane_id < ${from + 2 * DUE} and delayed and muster.sought_by(lane_id)
  )
  update muster.pending set not_before = now() - interval '1 second'
    where lane_id >= ${from + 2 * DUE} and lane_id < ${from + 3 * DUE} and delayed and muster.sought_by(lane_id)`;

/** @param {string} url @param {number} lanes */
async function houseOf(url, lanes) {
  const db = openPostgres({ url });
  const engine = createEngine(db); // not started: nothing else keeps house
  await engine.runDuty('keep-days');
  /** @type {Record<string, number[]>} */
  const taken = Object.fromEntries(DUTIES.map((duty) => [duty, []]));
  return {
    taken,
    close: () => engine.stop().then(() => db.close()),
    /** @param {number} round */
    async keep(round) {
      await db.query({ text: makeDue(((round * 3 * DUE) % Math.max(1, lanes - 3 * DUE)) + 1) });
      for (const duty of DUTIES) {
        const began = performance.now();
        await engine.runDuty(duty);
        taken[duty]?.push(performance.now() - began);
      }
    },
  };
}

export default [
  {
    name: 'duties-million',
    title: 'Housekeeping among a million lanes, 500 of each kind due, p50',
    unit: 'ms',
    lower: true,
    uses: ['postgres'],
    template: 'house',
    beside: 'cottage',
    settings: `${DUTIES.join(', ')}, one round each, ${DUE} due; every lane holds a lease and a delayed action that can expire`,
    async measure(/** @type {import('../rows.mjs').Task} */ { url, beside, sizes }) {
      const large = await houseOf(url, sizes.pending);
      const small = await houseOf(String(beside), sizes.cottage);
      for (let round = 0; round < ROUNDS; round += 1) {
        await large.keep(round);
        await small.keep(round);
      }
      await large.close();
      await small.close();
      const p50 = (/** @type {Record<string, number[]>} */ taken) =>
        Object.fromEntries(DUTIES.map((duty) => [duty, quantile(taken[duty] ?? [], 0.5)]));
      const sum = (/** @type {Record<string, number>} */ of) =>
        Object.values(of).reduce((all, ms) => all + ms, 0);
      return { value: sum(p50(large.taken)), besideP50: sum(p50(small.taken)), ...p50(large.taken) };
    },
  },
];
