// The aims of the project, as ratios of rows of the same run.

import { median } from './measure.mjs';

/**
 * @typedef {Record<string, { value: number } & Record<string, number>>} Figures by the name of the row
 * @typedef {{ text: string, unit: string, target: number, atMost?: boolean, actual: (figures: Figures) => number }} Aim
 */

/** @param {string} above @param {string} below @returns {(figures: Figures) => number} */
const ratio = (above, below) => (figures) => of(figures, above).value / of(figures, below).value;

/** @param {Figures} figures @param {string} row */
function of(figures, row) {
  const found = figures[row];
  if (!found) throw new MissingRow(row);
  if (Number(found.stolen) > DISTURBED) throw new DisturbedRow(row);
  return found;
}

/** A row that lost more than this share of the machine decides nothing: with 23 % stolen, a ratio of 0.44 looked like 0.94. */
export const DISTURBED = 0.05;

export class MissingRow extends Error {}
class DisturbedRow extends MissingRow {}

/** @type {Aim[]} */
export const aims = [
  {
    text: 'ordered report-and-claim through the engine, over graphile-worker with one queue per key, no batching',
    unit: '×',
    target: 30,
    actual: ratio('engine-fused-postgres', 'graphile-queue-defaults'),
  },
  {
    text: 'the same over graphile-worker with one queue per key, batching',
    unit: '×',
    target: 1.4,
    actual: ratio('engine-fused-postgres', 'graphile-queue-per-key'),
  },
  {
    text: 'ordered report-and-claim through the engine, over graphile-worker unordered',
    unit: '×',
    target: 1,
    actual: ratio('engine-fused-postgres', 'graphile-unordered'),
  },
  {
    text: 'enqueueMany, over addJobs of graphile-worker',
    unit: '×',
    target: 1,
    actual: ratio('engine-enqueue-many-postgres', 'graphile-add-many'),
  },
  {
    text: 'single enqueues by concurrent callers, over BullMQ on Redis',
    unit: '×',
    target: 1.4,
    actual: ratio('engine-enqueue-postgres', 'bullmq-add'),
  },
  {
    text: 'a statement with one report, time of PostgreSQL',
    unit: ' ms',
    target: 0.35,
    atMost: true,
    actual: (figures) => of(figures, 'engine-report-alone').value,
  },
  {
    text: 'log written per report-and-claim',
    unit: ' bytes',
    target: 900,
    atMost: true,
    actual: (figures) => Number(of(figures, 'engine-fused-postgres').walPerCycle),
  },
  {
    text: 'report-and-claim over HTTP, of the bare route',
    unit: '×',
    target: 0.5,
    actual: ratio('http-fused-postgres', 'bare-route'),
  },
  ...['million', 'finished', 'delayed'].map((backlog) => ({
    text:
      {
        million: 'claim p99 with a million pending, of that with a thousand',
        finished: 'claim p99 with ten million finished, of that with a thousand pending',
        delayed: 'claim p99 with 100,000 delayed in the lane, of that with a thousand pending',
      }[backlog] ?? backlog,
    unit: '×',
    target: 1.3,
    atMost: true,
    actual: (/** @type {Figures} */ figures) => {
      const { value, besideP99 } = of(figures, `claim-latency-${backlog}`);
      return value / Number(besideP99);
    },
  })),
  {
    text: 'housekeeping among a million lanes, of that among ten thousand',
    unit: '×',
    target: 1.3,
    atMost: true,
    actual: (/** @type {Figures} */ figures) => {
      const { value, besideP50 } = of(figures, 'duties-million');
      return value / Number(besideP50);
    },
  },
  {
    text: 'first page of the lists with a million actions, p50, of that with a thousand',
    unit: '×',
    target: 1.3,
    atMost: true,
    actual: (/** @type {Figures} */ figures) => {
      const { p50, besideP50 } = of(figures, 'list-page-million');
      return Number(p50) / Number(besideP50);
    },
  },
  {
    text: 'report-and-claim with an old snapshot held open, of that without',
    unit: '×',
    target: 0.5,
    actual: ratio('snapshot-held', 'snapshot-free'),
  },
  ...['engine', 'http'].flatMap((level) => [
    {
      text: `queries while ten thousand wait (${level})`,
      unit: '/s',
      target: 5,
      atMost: true,
      actual: (/** @type {Figures} */ figures) => Number(of(figures, `waiters-${level}`).queriesPerSecond),
    },
    {
      text: `memory of a parked waiter (${level})`,
      unit: ' bytes',
      target: 12 * 1_024,
      atMost: true,
      actual: (/** @type {Figures} */ figures) => of(figures, `waiters-${level}`).value,
    },
  ]),
  {
    text: 'p99 from POST to the agent that waits, ten thousand waiting',
    unit: ' ms',
    target: 10,
    atMost: true,
    actual: (figures) => of(figures, 'control-wake-up').value,
  },
  {
    text: 'the same with four operators at once',
    unit: ' ms',
    target: 15,
    atMost: true,
    actual: (figures) => of(figures, 'control-wake-up-four').value,
  },
  {
    text: 'p99 of the answer to a poll when work is there, nine thousand waiting',
    unit: ' ms',
    target: 10,
    atMost: true,
    actual: (figures) => of(figures, 'control-work-there').value,
  },
  {
    text: 'check-ins over HTTP with result, lease and history, over select, delete, send',
    unit: '×',
    target: 2,
    actual: ratio('checkin-postgres', 'checkin-select-delete-send'),
  },
  {
    text: 'cycles of phones (answer in, next command out), of the bare route',
    unit: '×',
    target: 0.35,
    actual: ratio('mdm-cycles-header', 'bare-route'),
  },
  {
    text: 'a batch for every device is accepted within',
    unit: ' ms',
    target: 1_000,
    atMost: true,
    actual: (figures) => of(figures, 'batch-accept').value,
  },
  {
    text: 'every action of a batch for every device is in its lane within',
    unit: ' s',
    target: 6,
    atMost: true,
    actual: (figures) => of(figures, 'batch-supply').value,
  },
  {
    text: 'p50 from the end of a device to the next one at the waiting runner',
    unit: ' ms',
    target: 5,
    atMost: true,
    actual: (figures) => Number(of(figures, 'tasks-refill').p50),
  },
  {
    text: 'p99 from the end of a device to the next one at the waiting runner',
    unit: ' ms',
    target: 10,
    atMost: true,
    actual: (figures) => of(figures, 'tasks-refill').value,
  },
  {
    text: 'GraphQL assignAction, of single enqueues over HTTP',
    unit: '×',
    target: 0.5,
    actual: ratio('graphql-assign', 'http-enqueue'),
  },
  {
    text: 'creating a task for every device, of that for ten',
    unit: '×',
    target: 1.3,
    atMost: true,
    actual: ratio('tasks-create-all', 'tasks-create-ten'),
  },
  {
    text: 'orders of one pool claimed by 200 bots, over for update skip locked one by one',
    unit: '×',
    target: 5,
    actual: ratio('pool-claims-200', 'skip-locked-200'),
  },
];

/**
 * Ratios are taken per round, between rows measured within minutes of each other, and their median counts.
 * @param {{ name: string, notRun?: string, runs?: Figures[string][] }[]} rows
 */
export function judge(rows) {
  const taken = rows.filter((row) => !row.notRun);
  const rounds = Math.max(0, ...taken.map((row) => row.runs?.length ?? 0));
  const figures = Array.from({ length: rounds }, (_, n) =>
    Object.fromEntries(taken.flatMap((row) => (row.runs?.[n] ? [[row.name, row.runs[n]]] : []))),
  );
  return aims.map(({ actual, ...aim }) => {
    let disturbed = false;
    const values = figures.flatMap((round) => {
      try {
        return [actual(round)];
      } catch (error) {
        if (!(error instanceof MissingRow)) throw error;
        disturbed ||= error instanceof DisturbedRow;
        return [];
      }
    });
    if (values.length === 0) return { ...aim, value: null, reached: null, disturbed };
    const value = median(values);
    return { ...aim, value, reached: aim.atMost ? value <= aim.target : value >= aim.target };
  });
}
