/**
 * Fixed games: together they cover everything the model knows of, each thing where it can be told from similar ones.
 * Rare cases would otherwise be missing once in some hundred runs.
 */
import type { Command, Enqueue } from './commands.ts';
import { DEPTH_LIMIT } from './play.ts';

type Named<Op extends Command['op']> = Extract<Command, { readonly op: Op }>;

const enqueue = (more: Partial<Enqueue> = {}): Command => ({
  ...{ op: 'enqueue', lane: 0, channel: 'any', urgent: false, tagged: false, maxAttempts: 3, hold: false },
  ...{
    onLeaseEnd: 'retry',
    notBeforeIn: null,
    deliverByIn: null,
    deadlineIn: null,
    supersede: null,
    key: null,
  },
  ...more,
});
const claim = (more: Partial<Named<'claim'>> = {}): Command => ({
  ...{ op: 'claim', lane: 0, worker: 0, channel: 'a', oldGeneration: false },
  ...more,
});
const RUNNING = { action: 0, running: true, older: 0 };
const report = (outcome: Named<'report'>['outcome'], more: Partial<Named<'report'>> = {}): Command => ({
  ...{ op: 'report', ...RUNNING, outcome, delayMs: undefined, next: null },
  ...more,
});
const fromPool: Command = { op: 'claimFromPool', worker: 0, channel: 'any', normalShare: 0 };
const supersede = (mode: 'keep-first' | 'replace' | 'append') => enqueue({ supersede: { key: 'x', mode } });
const of = (op: 'cancel' | 'redrive' | 'moveToFront' | 'makeDue' | 'enqueueAgain', action = 0): Command => ({
  op,
  action,
});
const held = (op: 'extend' | 'acknowledge'): Command => ({ op, ...RUNNING });
const pass = (ms: number): Command => ({ op: 'pass', ms });
const compare: Command = { op: 'compare' };
const failed = [enqueue({ maxAttempts: 1 }), claim(), report('failed')];

export const OPENINGS: Readonly<Record<string, readonly Command[]>> = {
  'done, repeated, and contradicted too late': [
    ...[enqueue(), enqueue(), claim(), claim(), held('acknowledge'), held('extend'), compare],
    ...[report('succeeded'), report('succeeded', { running: false }), report('failed', { running: false })],
  ],
  'tried again, put off and given back': [
    ...[enqueue(), claim(), report('failed'), compare, of('makeDue'), claim()],
    ...[report('not_now', { delayMs: 3_000 }), compare, pass(10_000), claim(), report('released'), compare],
  ],
  'given back more often than a client may': [
    ...[
      enqueue({ maxAttempts: 1 }),
      ...Array.from({ length: 11 }, () => [claim(), report('taken_back')]).flat(),
    ],
    ...[compare, ...Array.from({ length: 10 }, () => [claim(), report('released')]).flat(), compare],
  ],
  'failed, redriven, out of time, and ended with its lease': [
    ...[...failed, compare, of('redrive'), compare],
    ...[enqueue({ lane: 1, onLeaseEnd: 'fail' }), claim({ lane: 1 }), pass(10_001), compare],
    ...[enqueue({ lane: 1, onLeaseEnd: 'succeed' }), claim({ lane: 1 }), pass(10_001), compare],
    ...[enqueue({ lane: 1, onLeaseEnd: 'retry' }), claim({ lane: 1 }), pass(10_001), compare],
  ],
  'too late': [enqueue({ deliverByIn: 2_000 }), enqueue({ deadlineIn: 5_000 }), pass(10_000), compare],
  'not before its time, and to the front': [
    ...[enqueue({ notBeforeIn: 9_000 }), compare, enqueue(), enqueue(), of('moveToFront', 2), compare],
  ],
  'cancelled, waiting and running': [
    ...[enqueue(), enqueue(), of('cancel', 1), claim(), of('cancel'), compare, report('failed'), compare],
  ],
  'of another life': [enqueue(), { op: 'raiseGeneration', lane: 0 }, compare, claim({ oldGeneration: true })],
  'replaced by another, and the same again': [
    ...[supersede('keep-first'), supersede('keep-first'), supersede('replace'), supersede('append')],
    ...[enqueue({ key: 'k1' }), of('enqueueAgain'), enqueue({ key: 'k1', urgent: true }), compare],
  ],
  'a full lane': Array.from({ length: DEPTH_LIMIT + 1 }, () => enqueue()),
  'paused and blocked': [
    ...[enqueue({ tagged: true }), { op: 'pauseTag', on: true }, compare, { op: 'pauseTag', on: false }],
    ...[{ op: 'pauseTenant', on: true }, compare, { op: 'pauseTenant', on: false }],
    ...[{ op: 'pauseLane', lane: 0, on: true }, compare, { op: 'pauseLane', lane: 0, on: false }],
    ...[{ op: 'blockLane', lane: 0, on: true }, compare],
  ] as Command[],
  'behind an urgent one on another channel': [
    ...[enqueue({ channel: 'a' }), enqueue({ channel: 'b', urgent: true })],
    ...([{ op: 'hear', lane: 0, channel: 'b', ms: 30_000 }, compare] as Command[]),
  ],
  'without a free slot': [
    ...([enqueue(), enqueue({ lane: 1 }), { op: 'claimSlots', channel: 'a', max: 1 }, compare] as Command[]),
  ],
  'of a pool': [
    ...[
      fromPool,
      enqueue({ lane: 2 }),
      fromPool,
      fromPool,
      compare,
      report('failed', { next: 'a' }),
      compare,
    ],
  ],
};
