// How long one claim takes when nobody else is calling, over four backlogs. Only the claim is timed; the report that
// ends the action follows untimed.

import { pause, quantile } from '../measure.mjs';
import { claimOf, laneIds, openMuster, reportOf } from '../muster.mjs';

/** @param {{ url: string, sizes: import('../options.mjs').Sizes }} on */
async function measure({ url, sizes }) {
  const muster = await openMuster(url);
  const { db, engine } = muster;
  const lanes = await laneIds(muster);
  const step = Math.max(1, Math.floor(lanes.length / sizes.samples));
  /** @type {number[]} */
  const taken = [];
  const warmUp = Math.ceil(sizes.samples / 5);
  for (let n = 0; n < sizes.samples + warmUp; n += 1) {
    const laneId = String(lanes[(n * step) % lanes.length]);
    const began = performance.now();
    const action = await engine.claim(db, claimOf(laneId));
    const ms = performance.now() - began;
    if (!action) throw new Error(`Lane ${laneId} handed out nothing.`);
    if (n >= warmUp) taken.push(ms);
    await engine.report(db, {
      ...reportOf({ laneId, actionId: action.id, attempt: action.attempt }),
      next: undefined,
    });
    if (n % 500 === 499) await pause(1);
  }
  await muster.close();
  return { value: quantile(taken, 0.99), p50: quantile(taken, 0.5), p99: quantile(taken, 0.99) };
}

/** @param {string} template @param {string} title @param {string} settings */
const row = (template, title, settings) => ({
  name: `claim-latency-${template}`,
  title: `Claim p99, ${title}`,
  unit: 'ms',
  lower: true,
  uses: ['postgres'],
  template,
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
