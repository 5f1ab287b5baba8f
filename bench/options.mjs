// The options of a benchmark run, and the sizes that follow from them.

import { parseArgs } from 'node:util';

export const usage = `npm run bench [-- options]
  --quick            tiny sizes, one repeat: shows that every row runs, its figures mean nothing
  --only <rows>      only rows whose name begins with one of these words (comma between them); nothing is kept
  --repeat <n>       repeats of each row, of which the median counts (3)
  --seconds <n>      how long a rate is measured after the warm-up (10)
  --lanes <n>        lanes with ten pending actions each (100000)
  --callers <n>      concurrent callers (1000)
  --pending <n>      the large backlog of the claim latency (1000000)
  --finished <n>     the large history of the claim latency (10000000)
  --delayed <n>      delayed rows in one lane (100000)
  --waiters <n>      parked waiters (10000)
  --profile          keeps CPU profiles of the measured Node processes in bench/.cache/profiles`;

const full = {
  repeat: 3,
  seconds: 10,
  warmUpSeconds: 2,
  httpWarmUpSeconds: 6,
  lanes: 100_000,
  perLane: 10,
  embeddedLanes: 10_000,
  callers: 1_000,
  connections: 256,
  peerJobs: 600_000,
  poolOrders: 200_000,
  pending: 1_000_000,
  cottage: 10_000,
  finished: 10_000_000,
  delayed: 100_000,
  samples: 3_000,
  waiters: 10_000,
  watchSeconds: 30,
};

const quick = {
  repeat: 1,
  seconds: 0.3,
  warmUpSeconds: 0.1,
  httpWarmUpSeconds: 0.1,
  lanes: 1_500,
  perLane: 10,
  embeddedLanes: 300,
  callers: 50,
  connections: 8,
  peerJobs: 10_000,
  poolOrders: 10_000,
  pending: 3_000,
  cottage: 2_000,
  finished: 2_000,
  delayed: 1_000,
  samples: 50,
  waiters: 100,
  watchSeconds: 1,
};

/** @typedef {typeof full} Sizes */

/** @param {string[]} args */
export function readOptions(args) {
  const numbers = /** @type {const} */ ([
    'repeat',
    'seconds',
    'lanes',
    'callers',
    'pending',
    'finished',
    'delayed',
    'waiters',
  ]);
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: { type: 'string' },
      ...Object.fromEntries(numbers.map((name) => [name, { type: 'string' }])),
    },
  });
  /** @type {Sizes} */
  const sizes = { ...(values.quick ? quick : full) };
  for (const name of numbers) {
    const given = values[name];
    if (given === undefined) continue;
    const number = Number(given);
    if (!(number > 0)) throw new Error(`--${name} takes a number above 0.`);
    sizes[name] = number;
  }
  if (values.lanes !== undefined) sizes.embeddedLanes = Math.min(sizes.embeddedLanes, sizes.lanes);
  return {
    help: values.help === true,
    only: typeof values.only === 'string' ? values.only.split(',').filter(Boolean) : undefined,
    profile: values.profile === true,
    quick: values.quick === true,
    sizes,
  };
}
