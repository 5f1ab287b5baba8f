/**
 * Random commands, as plain data: actions, lanes and runners are named by number, so that shrinking keeps their
 * meaning.
 */
import fc from 'fast-check';

export type Command =
  | ({ readonly op: 'enqueue' } & Enqueue)
  | {
      readonly op: 'claim';
      readonly lane: number;
      readonly worker: number;
      readonly channel: string;
      readonly oldGeneration: boolean;
    }
  | {
      readonly op: 'claimFromPool';
      readonly worker: number;
      readonly channel: string;
      readonly normalShare: number;
    }
  | { readonly op: 'claimSlots'; readonly channel: string; readonly max: number }
  | ({ readonly op: 'enqueueAndClaim' } & Enqueue)
  | {
      readonly op: 'report';
      readonly action: number;
      readonly running: boolean;
      readonly older: number;
      readonly outcome: 'succeeded' | 'failed' | 'not_now' | 'released' | 'unreached' | 'taken_back';
      readonly delayMs: number | undefined;
      readonly next: string | null;
    }
  | {
      readonly op: 'extend' | 'acknowledge';
      readonly action: number;
      readonly running: boolean;
      readonly older: number;
    }
  | {
      readonly op: 'cancel' | 'redrive' | 'moveToFront' | 'makeDue' | 'enqueueAgain';
      readonly action: number;
    }
  | {
      readonly op: 'cancelTagged' | 'redriveAll' | 'raiseGeneration' | 'resumeEverything';
      readonly lane: number;
    }
  | { readonly op: 'pauseLane' | 'blockLane'; readonly lane: number; readonly on: boolean }
  | { readonly op: 'pauseTag' | 'pauseTenant'; readonly on: boolean }
  | { readonly op: 'assignRunner'; readonly lane: number; readonly runner: number | null }
  | { readonly op: 'setSlots'; readonly runner: number; readonly slots: number | null }
  | { readonly op: 'hear'; readonly lane: number; readonly channel: string; readonly ms: number }
  | { readonly op: 'pass'; readonly ms: number }
  | { readonly op: 'compare' };

export interface Enqueue {
  readonly lane: number;
  readonly channel: string;
  readonly urgent: boolean;
  readonly tagged: boolean;
  readonly notBeforeIn: number | null;
  readonly deliverByIn: number | null;
  readonly deadlineIn: number | null;
  readonly maxAttempts: number;
  readonly hold: boolean;
  readonly onLeaseEnd: 'retry' | 'fail' | 'succeed';
  readonly supersede: { readonly key: string; readonly mode: 'keep-first' | 'replace' | 'append' } | null;
  readonly key: string | null;
}

export const LANES = 2;
/** After them: a pool, and the lanes of its workers. */
export const WORKERS = 2;
export const RUNNERS = 2;
export const TAG = 'red';
export const LEASE_MS = 10_000;

const lane = fc.nat(LANES - 1);
const laneOrPool = fc.constantFrom(...Array.from({ length: LANES }, (_, n) => n), LANES, LANES);
const anyLane = fc.nat(LANES + WORKERS);
const action = fc.nat(20);
const channel = fc.constantFrom('any', 'any', 'any', 'a', 'a', 'b');
const by = fc.constantFrom('a', 'a', 'a', 'a', 'any', 'b');
const rarely = <T>(value: fc.Arbitrary<T>, oneIn = 8) =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const often = fc.integer({ min: 1, max: 5 }).map((n) => n < 5);

const wanted = {
  lane: laneOrPool,
  channel,
  urgent: often.map((yes) => !yes),
  tagged: often.map((yes) => !yes),
  notBeforeIn: rarely(fc.constantFrom(-1, 0, 1_000, 9_000)),
  deliverByIn: rarely(fc.constantFrom(2_000, 20_000)),
  deadlineIn: rarely(fc.constantFrom(5_000, 12_000, 40_000)),
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  hold: fc.boolean(),
  onLeaseEnd: fc.constantFrom('retry' as const, 'retry' as const, 'fail' as const, 'succeed' as const),
  supersede: rarely(
    fc.record({
      key: fc.constantFrom('x', 'y'),
      mode: fc.constantFrom('keep-first' as const, 'replace' as const, 'append' as const),
    }),
  ),
  key: rarely(fc.constantFrom('k1', 'k2'), 16),
};
const of = { action, running: often, older: fc.constantFrom(0, 0, 0, 0, 1, -1) };
const op = <T extends string>(...names: T[]) => fc.constantFrom(...names);

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: op('enqueue'), ...wanted }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: op('claim'),
      lane: fc.constantFrom(0, 0, 0, 1, 1, 1, LANES, LANES + 1),
      worker: fc.constantFrom(0, 0, 0, 1),
      channel: by,
      oldGeneration: fc.nat(15).map((n) => n === 0),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: op('claimFromPool'),
      worker: fc.nat(WORKERS - 1),
      channel: fc.constantFrom('any', 'any', 'a'),
      normalShare: fc.constantFrom(0, 1, 2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: op('claimSlots'), channel: by, max: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: op('enqueueAndClaim'),
      ...wanted,
      supersede: fc.constant(null),
      notBeforeIn: fc.constant(null),
      key: fc.constant(null),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: op('report'),
      ...of,
      outcome: op('succeeded', 'failed', 'failed', 'not_now', 'released', 'unreached', 'taken_back'),
      delayMs: fc.option(fc.constantFrom(0, 500, 3_000), { nil: undefined, freq: 2 }),
      next: fc.option(by, { nil: null, freq: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: op('extend', 'acknowledge'), ...of }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: op('cancel', 'redrive', 'redrive', 'moveToFront', 'makeDue', 'enqueueAgain'),
      action,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: op('cancelTagged', 'redriveAll', 'raiseGeneration', 'resumeEverything', 'resumeEverything'),
      lane: anyLane,
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: op('pauseLane', 'blockLane'), lane: anyLane, on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: op('pauseTag', 'pauseTag', 'pauseTenant'), on: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: op('assignRunner'), lane, runner: fc.constantFrom(0, 1, null) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: op('setSlots'),
      runner: fc.nat(RUNNERS - 1),
      slots: fc.constantFrom(1, 2, null),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: op('pass'),
      ms: fc.constantFrom(0, 400, 2_000, 3_000, 10_000, 10_001, 60_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: op('hear'),
      lane,
      channel: fc.constantFrom('a', 'b'),
      ms: fc.constantFrom(0, 3_000, 30_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: op('compare') }) },
);
