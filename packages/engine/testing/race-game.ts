import type { ClaimedAction, Engine, Queryable } from '../src/index.ts';
import { EngineError } from '../src/index.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import { checkHistory, type Violation } from './check-history.ts';
import type { TestClock } from './clock.ts';
import { readHistory } from './history.ts';
import { createDie, type Die } from './random.ts';

/**
 * Many callers at once on a few lanes, each making random calls: enqueues (plain, keyed, superseding, in slow
 * transactions), claims by lane and by runner, reports of every kind, extensions, cancels, redrives, moves, pauses,
 * raised generations, sweeps. Their answers are logged; afterwards everything is drained and the whole history is
 * checked.
 */
export interface GameOptions {
  /** All on one database; a call goes to any of them. */
  readonly engines: readonly Engine[];
  readonly clock: TestClock;
  readonly tenantId: number;
  readonly seed: number;
  readonly actors: number;
  readonly steps: number;
  /** Opens a session of its own, for transactions that stay open while the others go on. */
  readonly session?: () => Promise<{ readonly db: Queryable; run(sql: string): Promise<unknown> }>;
}

export interface GameResult {
  readonly violations: Violation[];
  readonly unfinished: number;
  readonly calls: number;
  /** How often a caller was told that a lane is locked. */
  readonly busy: number;
}

const LANES = 5;
const SLOTTED = 6;
const POOL_WORKERS = 4;
const SLOTS = 2;
const LEASE_MS = 5_000;

export async function playRaces(options: GameOptions): Promise<GameResult> {
  const { engines, tenantId, clock } = options;
  const main = engines[0] as Engine;
  const log = createCallLog();
  const ids: string[] = [];
  const [laneIds, slotted] = [
    await makeLanes(main, tenantId, 'lane', LANES),
    await makeLanes(main, tenantId, 'slotted', SLOTTED),
  ];
  const runners = await Promise.all([1, 2].map(() => main.createRunner(main.db, tenantId, SLOTS)));
  for (const id of runners) log.slots.set(workerOf(id), SLOTS);
  for (const [n, laneId] of slotted.entries())
    await main.assignRunner(main.db, { tenantId, laneId }, runners[n % 2] as string);
  const poolId = await main.ensurePool(main.db, tenantId, 'race', 'pool');
  const ofPool = await makeLanes(main, tenantId, 'worker', POOL_WORKERS);
  for (const laneId of ofPool) await main.joinPool(main.db, { tenantId, laneId }, poolId);
  let calls = 0;
  let busy = 0;
  const world: World = {
    ...options,
    log,
    ids,
    lanes: [...laneIds, ...slotted],
    addressed: laneIds,
    slotted,
    runners,
    poolId,
    ofPool,
  };

  async function actor(n: number): Promise<void> {
    const die = createDie(options.seed * 1_000 + n);
    for (let step = 0; step < options.steps; step += 1) {
      try {
        await act(world, die, die.of(engines));
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'MUSTER_LANE_BUSY')) throw error;
        busy += 1;
      }
      calls += 1;
    }
  }
  await Promise.all(Array.from({ length: options.actors }, (_, n) => actor(n)));
  const duringTheRace = checkHistory(await readHistory(main.db, tenantId, main.schema), log).filter(
    // what a transaction added under an old generation is ended by the drain
    (one) => one.kind !== 'wrong-generation' || one.text.includes('handed out'),
  );
  const unfinished = await drain(world, main, clock);
  const violations = [
    ...duringTheRace,
    ...checkHistory(await readHistory(main.db, tenantId, main.schema), log),
  ];
  return { violations, unfinished, calls, busy };
}

interface World extends GameOptions {
  readonly log: CallLog;
  readonly ids: string[];
  readonly lanes: readonly string[];
  readonly addressed: readonly string[];
  readonly slotted: readonly string[];
  readonly runners: readonly string[];
  readonly poolId: string;
  /** Lanes of its workers. */
  readonly ofPool: readonly string[];
}

const workerOf = (runnerId: string) => `runner ${runnerId}`;

async function makeLanes(engine: Engine, tenantId: number, name: string, many: number): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < many; n += 1)
    made.push(await engine.ensureLane(engine.db, tenantId, 'race', `${name} ${n}`));
  return made;
}

async function act(world: World, die: Die, engine: Engine): Promise<void> {
  const { tenantId, log, clock } = world;
  const { db } = engine;
  const lane = { tenantId, laneId: die.of([...world.lanes, ...world.ofPool]) };
  const actionId = world.ids.length > 0 ? die.of(world.ids) : '1';
  const what = die.below(100);
  if (what < 30) return enqueue(world, die, engine, db);
  if (what < 34) return inSlowTransaction(world, die, engine);
  if (what < 50) return work(world, die, engine);
  if (what < 58) return workPool(world, die, engine);
  if (what < 66) return workSlots(world, die, engine);
  if (what < 74) {
    const { outcome } = await engine.cancel(db, { tenantId, actionId });
    if (outcome === 'cancelled') log.cancelled.push({ id: actionId });
  } else if (what < 78) {
    const { outcome } = await engine.redrive(db, { tenantId, actionId });
    if (outcome === 'redriven') log.redriven.push({ id: actionId, answered: log.tick() });
  } else if (what < 79) await engine.moveToFront(db, { tenantId, actionId });
  else if (what < 80) await engine.makeDue(db, { tenantId, actionId });
  else if (what < 83) {
    await engine.pauseLane(db, lane);
    await engine.resumeLane(db, lane);
  } else if (what < 85) {
    const begun = log.tick();
    await engine.raiseGeneration(db, lane);
    log.raised.push({ laneId: lane.laneId, begun, ended: log.tick() });
  } else if (what < 88) {
    await engine.assignRunner(db, { tenantId, laneId: die.of(world.slotted) }, die.of(world.runners));
  } else {
    clock.advance(die.below(1_500));
    for (const duty of ['end-leases', 'make-due', 'expire', 'end-stale', 'fold-counts'])
      await engine.runDuty(duty);
  }
}

async function enqueue(
  world: World,
  die: Die,
  engine: Engine,
  on: Queryable,
  commit?: () => Promise<boolean>,
): Promise<void> {
  const { tenantId, log } = world;
  const kind = die.below(10);
  const extra =
    kind === 0
      ? { idempotencyKey: `key ${die.below(8)}`, payload: {} }
      : kind === 1
        ? { supersede: { key: 'x', mode: die.of(['replace', 'keep-first'] as const) } }
        : kind === 2
          ? { priority: 'urgent' as const }
          : {};
  const laneId =
    kind === 0 ? (world.lanes[0] as string) : die.of([...world.lanes, world.poolId, world.poolId]);
  const onLeaseEnd = kind === 0 ? ('retry' as const) : die.of(['retry', 'retry', 'fail', 'succeed'] as const);
  const begun = log.tick();
  const made = await engine.enqueue(on, {
    tenantId,
    laneId,
    kind: 'race',
    backoffMs: 10,
    onLeaseEnd,
    ...extra,
  });
  const answered = log.tick();
  if (commit && !(await commit())) return;
  if (made.outcome !== 'created') return;
  world.ids.push(made.id);
  log.enqueued.push({ id: made.id, begun, answered, ended: log.tick() });
}

async function inSlowTransaction(world: World, die: Die, engine: Engine): Promise<void> {
  if (!world.session) return enqueue(world, die, engine, engine.db);
  const session = await world.session();
  await session.run('begin');
  const commits = die.below(4) > 0;
  try {
    await enqueue(world, die, engine, session.db, async () => {
      // open for as long as these questions take; the others go on meanwhile
      for (let left = die.below(40); left > 0; left -= 1) await session.run('select 1');
      await session.run(commits ? 'commit' : 'rollback');
      return commits;
    });
  } catch (error) {
    await session.run('rollback');
    throw error;
  }
}

async function work(world: World, die: Die, engine: Engine): Promise<void> {
  const { tenantId, log } = world;
  const begun = log.tick();
  const worker = `worker ${die.below(4)}`;
  const laneId = die.of(world.addressed);
  const claimed = await engine.claim(engine.db, {
    tenantId,
    laneId,
    channel: 'any',
    worker,
    leaseMs: LEASE_MS,
  });
  if (!claimed) return;
  log.claimed.push({ id: claimed.id, attempt: claimed.attempt, until: claimed.leaseUntil, begun });
  await finish(world, die, engine, claimed);
}

async function workSlots(world: World, die: Die, engine: Engine): Promise<void> {
  const { tenantId, log } = world;
  const begun = log.tick();
  const runnerId = die.of(world.runners);
  const request = {
    tenantId,
    runnerId,
    channel: 'any',
    worker: workerOf(runnerId),
    leaseMs: LEASE_MS,
    max: 1 + die.below(3),
  };
  for (const claimed of await engine.claimSlots(engine.db, request)) {
    log.claimed.push({ id: claimed.id, attempt: claimed.attempt, until: claimed.leaseUntil, begun });
    await finish(world, die, engine, claimed, true);
  }
}

async function workPool(world: World, die: Die, engine: Engine): Promise<void> {
  const { tenantId, log, poolId } = world;
  const begun = log.tick();
  const laneId = die.of(world.ofPool);
  const by = { channel: 'any', worker: `worker of ${laneId}`, leaseMs: LEASE_MS };
  const got = await engine.claimFromPool(engine.db, { tenantId, poolId, laneId, ...by });
  if (got.kind !== 'claimed') return;
  const { action } = got;
  log.claimed.push({ id: action.id, attempt: action.attempt, until: action.leaseUntil, begun });
  await finish(world, die, engine, action);
}

/** What a worker does with a claimed action; now and then nothing at all. */
async function finish(
  world: World,
  die: Die,
  engine: Engine,
  { id, attempt, laneId, worker }: ClaimedAction,
  slotted = false,
): Promise<void> {
  const { tenantId, log } = world;
  const { db } = engine;
  const base = { tenantId, actionId: id, attempt };
  const what = die.below(10);
  if (what === 0) return;
  if (what === 1) {
    const { extended, leaseUntil } = await engine.extend(db, { ...base, leaseMs: 2 * LEASE_MS });
    if (extended) log.extended.push({ id, attempt, until: leaseUntil as Date });
    return;
  }
  if (what === 2) {
    const { accepted, repeated } = await engine.release(db, base);
    if (accepted && !repeated) log.reported.push({ id, attempt, event: 'RELEASED' });
    return;
  }
  const status = die.of(['succeeded', 'succeeded', 'failed', 'notNow'] as const);
  const next = what < 7 ? { channel: 'any', worker, leaseMs: LEASE_MS, slotted } : undefined;
  const begun = log.tick();
  const answer = await engine.report(db, {
    ...base,
    status,
    next,
    leasedIn: die.of([undefined, laneId, world.lanes[0]]),
    retryAfterMs: status === 'notNow' ? 100 : undefined,
  });
  const event = { succeeded: 'SUCCEEDED', failed: 'FAILED', notNow: 'NOT_NOW' }[status];
  if (answer.accepted && !answer.repeated) log.reported.push({ id, attempt, event });
  if (!answer.next) return;
  const got = answer.next;
  log.claimed.push({ id: got.id, attempt: got.attempt, until: got.leaseUntil, begun });
}

/** Everything left is worked off; whatever is still unfinished then is stuck. */
async function drain(world: World, engine: Engine, clock: TestClock): Promise<number> {
  const { tenantId } = world;
  const { db } = engine;
  const duties = async () => {
    for (const duty of ['end-leases', 'make-due', 'expire', 'end-stale', 'fold-counts'])
      await engine.runDuty(duty);
  };
  clock.advance(60_000);
  await duties();
  clock.advance(600_000);
  await duties();
  await duties();
  for (const laneId of world.lanes) {
    const by = { channel: 'any', worker: 'last', leaseMs: 600_000 };
    let got = await engine.claim(db, { tenantId, laneId, ...by });
    while (got) {
      const done = await engine.report(db, {
        tenantId,
        actionId: got.id,
        attempt: got.attempt,
        status: 'succeeded',
        next: by,
      });
      got = done.next;
    }
  }
  const by = { channel: 'any', worker: 'last', leaseMs: 600_000 };
  const laneId = world.ofPool[0] as string;
  for (;;) {
    const got = await engine.claimFromPool(db, { tenantId, poolId: world.poolId, laneId, ...by });
    if (got.kind !== 'claimed') break;
    const { id: actionId, attempt } = got.action;
    await engine.report(db, { tenantId, actionId, attempt, status: 'succeeded' });
  }
  const counts = await engine.counts(db, tenantId);
  return counts
    .filter(({ state }) => state === 'pending' || state === 'claimed')
    .reduce((sum, { count }) => sum + count, 0);
}
