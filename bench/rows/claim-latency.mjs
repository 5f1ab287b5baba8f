// How long one claim takes without other callers, over four backlogs. Only the claim is timed; the report that ends the
// action follows untimed. A large backlog is measured in turns with a small one, claim by claim: a p99 shows the machine's
// hiccups, so both must have the same ones.

import { pause, quantile } from '../measure.mjs';
import { claimOf, laneIds, openMuster, reportOf } from '../muster.mjs';

/** @param {string} url @param {number} samples */
async function claimerOf(url, samples) {
  const muster = await openMuster(url);
  const { db, engine } = muster;
  const lanes = await laneIds(muster);
  const step = Math.max(1, Math.floor(lanes.length / samples));
  /** @type {number[]} */
  const taken = [];
  return {
    taken,
    close: muster.close,
    /** @param {number} n @param {boolean} counts */
    async claim(n, counts) {
      const laneId = String(lanes[(n * step) % lanes.length]);
      const began = performance.now();
      const action = await engine.claim(db, claimOf(laneId));
      const ms = performance.now() - began;
      if (!action) throw new Error(`Lane ${laneId} handed out nothing.`);
      if (counts) taken.push(ms);
      await engine.report(db, {
        ...reportOf({ laneId, actionId: action.id, attempt: action.attempt }),
        next: undefined,
      });
    },
  };
}

/** @param {import('../rows.mjs').Task} task */
async function measure({ url, beside, sizes }) {
  const own = await claimerOf(url, sizes.samples);
  const other = beside === undefined ? undefined : await claimerOf(beside, sizes.samples);
  const warmUp = Math.ceil(sizes.samples / 5);
  for (let n = 0; n < sizes.samples + warmUp; n += 1) {
    await own.claim(n, n >= warmUp);
    await other?.claim(n, n >= warmUp);
    if (n % 500 === 499) await pause(1);
  }
  await own.close();
  await other?.close();
  return {
    value: quantile(own.taken, 0.99),
    p50: quantile(own.taken, 0.5),
    p99: quantile(own.taken, 0.99),
    ...(other ? { besideP50: quantile(other.taken, 0.5), besideP99: quantile(other.taken, 0.99) } : {}),
  };
}

/** @param {string} template @param {string} title @param {string} settings */
const row = (template, title, settings) => ({
  name: `claim-latency-${template}`,
  title: `Claim p99, ${title}`,
  unit: 'ms',
  lower: true,
  uses: ['postgres'],
  template,
  ...(template === 'thousand' ? {} : { beside: 'thousand' }),
  settings,
  measure,
});

export default [
  row('thousand', 'a thousand pending', 'one caller; 100 lanes, some thousand ready actions'),
  row('million', 'a million pending', 'the same over 100,000 lanes with ten ready actions each'),
  row(
    'finished',
    'ten million finished',
    'as with a thousand pending, beside ten million finished actions and their history',
  ),
  row(
    'delayed',
    '100,000 delayed in the same lane',
    'all claims in one lane that also has 100,000 actions not due for a week',
  ),
];
