/** Plays commands on the engine and on the model and reports where they differ. */
import type { ClaimedAction, Engine, NewAction, Queryable } from '../../src/index.ts';
import { EngineError, eventName, replay } from '../../src/index.ts';
import type { TestClock } from '../clock.ts';
import { enqueueAndClaim, runnerLoad } from '../for-runners.ts';
import type { Contacts } from '../keep-contacts.ts';
import * as acts from './acts.ts';
import { type Command, type Enqueue, LANES, LEASE_MS, RUNNERS, TAG, WORKERS } from './commands.ts';
import {
  type Action,
  createModel,
  isPool,
  type Lane,
  type Lease,
  lease,
  leaseOf,
  type Model,
  nextOf,
  type Runner,
  type Wanted,
  waitingCode,
} from './state.ts';

export const DEPTH_LIMIT = 6;
export const START = '2026-03-01T12:00:00.000Z';
const EVERY_SECOND = ['end-leases', 'make-due', 'expire', 'end-stale', 'end-precedence'];

export class Parted extends Error {}

/** What has happened so far: a proof that never saw a redrive proves nothing about redrives. */
export const seen = new Set<string>();

export interface World {
  readonly engine: Engine;
  readonly clock: TestClock;
  readonly contacts: Contacts;
  readonly tenantId: number;
  readonly model: Model;
  readonly lanes: readonly Lane[];
  readonly runners: readonly Runner[];
}

export async function createWorld(
  engine: Engine,
  clock: TestClock,
  contacts: Contacts,
  tenantId: number,
): Promise<World> {
  clock.advanceTo(new Date(START));
  const { rows } = await engine.db.query({
    text: `with r as (insert into ${engine.schema}.runners (tenant_id, slots) select $1, 1 from generate_series(1, ${RUNNERS}) returning runner_id),
      l as (insert into ${engine.schema}.lanes (tenant_id, runner_id) select $1, (select min(runner_id) from r) from generate_series(1, ${LANES}) returning lane_id),
      o as (insert into ${engine.schema}.lanes (tenant_id, lane_id, pool_id) select $1, x.id, x.id from (select nextval('${engine.schema}.lane_seq') as id) x returning lane_id),
      w as (insert into ${engine.schema}.lanes (tenant_id, pool_id) select $1, o.lane_id from o, generate_series(1, ${WORKERS}) returning lane_id)
      select array(select runner_id from r order by 1)::text[] as runners, array(select lane_id from l order by 1)::text[] as lanes,
        (select lane_id from o)::text as pool, array(select lane_id from w order by 1)::text[] as workers`,
    values: [tenantId],
  });
  const model = createModel(clock().getTime(), DEPTH_LIMIT);
  for (const id of rows[0].runners as string[]) model.runners.set(id, { id, slots: 1 });
  const runner = [...model.runners.values()][0] ?? null;
  for (const id of rows[0].lanes as string[]) model.lanes.set(id, newLane(id, { runner }));
  const pool: Lane = newLane(rows[0].pool);
  Object.assign(pool, { pool });
  for (const lane of [pool, ...(rows[0].workers as string[]).map((id) => newLane(id, { pool }))])
    model.lanes.set(lane.id, lane);
  return {
    engine,
    clock,
    contacts,
    tenantId,
    model,
    lanes: [...model.lanes.values()],
    runners: [...model.runners.values()],
  };
}

const newLane = (id: string, of: Partial<Lane> = {}): Lane => ({
  ...{
    id,
    generation: 1,
    paused: false,
    blocked: null,
    runner: null,
    lease: null,
    pool: null,
    heard: new Map(),
  },
  ...of,
});

/** Unfinished work of a past run would slow down every later duty. */
export async function clearWorld(world: World): Promise<void> {
  const { engine, tenantId } = world;
  const tables =
    'pending lanes runners pauses count_changes stale_lanes actions action_tags endings idempotency_keys events test_contacts';
  const deletes = tables
    .split(' ')
    .map((table) => `d_${table} as (delete from ${engine.schema}.${table} where tenant_id = $1)`);
  await engine.db.query({
    name: 'test_clear_world',
    text: `with ${deletes.join(', ')} select 1`,
    values: [tenantId],
  });
}

export async function play(world: World, commands: readonly Command[]): Promise<void> {
  for (const command of commands) await perform(world, command);
  await compare(world);
  await drain(world);
  await compare(world);
}

function same(what: string, got: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];
  if (a !== b) throw new Parted(`${what}: the engine says ${a}, the model ${b}`);
}

const claimedWords = (action: ClaimedAction | null) =>
  action && {
    id: action.id,
    attempt: action.attempt,
    until: action.leaseUntil.getTime(),
    cancel: action.cancelRequested,
  };
const leaseWords = (lease: Lease | null) =>
  lease && { id: lease.action.id, attempt: lease.attempt, until: lease.until, cancel: lease.cancelRequested };

function codeOf(error: unknown): string {
  if (!(error instanceof EngineError)) throw error;
  return error.code;
}

async function perform(world: World, command: Command): Promise<void> {
  const { engine, tenantId, model, lanes, runners, clock } = world;
  const db: Queryable = engine.db;
  const all = [...model.actions.values()];
  const at = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;
  const laneOf = (n: number) => at(lanes, n);
  const ref = (n: number) => ({ tenantId, laneId: laneOf(n).id });

  switch (command.op) {
    case 'enqueue':
      return enqueue(world, laneOf(command.lane), spell(world, command));
    case 'enqueueAgain': {
      const keyed = all.filter((action) => action.wanted.key !== null);
      if (keyed.length === 0) return;
      const { lane, wanted } = at(keyed, command.action);
      return enqueue(world, lane, wanted);
    }
    case 'enqueueAndClaim': {
      const wanted = spell(world, command);
      const runner = at(runners, 0);
      const by = { worker: 'pc', leaseMs: LEASE_MS };
      const actions = [{ ...asked(wanted), laneId: laneOf(command.lane).id }];
      const [answer] = await enqueueAndClaim(engine, db, { tenantId, runnerId: runner.id, ...by, actions });
      const made =
        acts.mayComeIntoBeing(model, runner, laneOf(command.lane), wanted) &&
        acts.enqueue(model, laneOf(command.lane), wanted, answer?.id ?? '0').action;
      const expected = made ? lease(model, made, by, runner) : null;
      same('enqueueAndClaim', claimedWords(answer ?? null), leaseWords(expected));
      return;
    }
    case 'claim': {
      const lane = laneOf(command.lane);
      const generation = command.oldGeneration ? Math.max(1, lane.generation - 1) : undefined;
      const by = { worker: `w${command.worker}`, leaseMs: LEASE_MS, channel: command.channel, generation };
      const answer = await engine.claim(db, { ...ref(command.lane), ...by }).catch(codeOf);
      const expected = acts.claim(model, lane, by);
      if (typeof answer === 'string' || expected === 'wrong-generation')
        same('claim', answer, expected && 'MUSTER_WRONG_GENERATION');
      else same('claim', claimedWords(answer), leaseWords(expected));
      return;
    }
    case 'claimFromPool': {
      const lane = laneOf(LANES + 1 + command.worker);
      const { channel, normalShare } = command;
      const by = { worker: `p${command.worker}`, leaseMs: LEASE_MS, channel, normalShare };
      const poolId = lane.pool?.id as string;
      const answer = await engine.claimFromPool(db, { tenantId, poolId, laneId: lane.id, ...by });
      const expected = acts.claimFromPool(model, lane, by);
      const got = answer.kind === 'claimed' ? claimedWords(answer.action) : answer.kind;
      seen.add(`pool ${answer.kind}`);
      same('claimFromPool', got, expected === 'held' ? expected : (leaseWords(expected) ?? 'empty'));
      return;
    }
    case 'claimSlots': {
      const runner = at(runners, 0);
      // where a moved action stands among those of other lanes is not promised
      if (all.some((action) => action.history.some((event) => event.type === 'MOVED'))) return;
      const by = { worker: 'pc', leaseMs: LEASE_MS, channel: command.channel, max: command.max };
      const answer = await engine.claimSlots(db, { tenantId, runnerId: runner.id, ...by });
      same('claimSlots', answer.map(claimedWords), acts.claimSlots(model, runner, by).map(leaseWords));
      return;
    }
    case 'report': {
      const target = named(world, command);
      if (!target) return;
      const { action, attempt } = target;
      const next =
        command.next === null ? undefined : { channel: command.next, worker: 'w0', leaseMs: LEASE_MS };
      const base = { tenantId, actionId: action.id, attempt };
      const { outcome } = command;
      const isRelease = outcome === 'released' || outcome === 'taken_back';
      const answer = isRelease
        ? await engine.release(db, { ...base, uncounted: outcome === 'taken_back' })
        : await engine.report(db, {
            ...base,
            status: outcome === 'not_now' ? 'notNow' : outcome,
            retryAfterMs: command.delayMs,
            next,
            leasedIn: hinted(world, action),
          });
      const at = action.at;
      const held = leaseOf(action);
      const means = outcome === 'taken_back' ? 'unreached' : outcome;
      const expected = acts.report(model, action, attempt, means, command.delayMs);
      const { accepted, state, repeated } = answer;
      same('report', { accepted, state, repeated }, expected);
      if (isRelease || !next) return;
      if (held && at !== action.at) seen.add('went home');
      const settled = held !== null && at.lease !== held;
      const then = settled ? acts.goOn(model, at, held, next) : acts.claim(model, action.at, next, action);
      same('next of the report', claimedWords(answer.next), leaseWords(then as Lease | null));
      return;
    }
    case 'extend':
    case 'acknowledge': {
      const target = named(world, command);
      if (!target) return;
      const { action, attempt } = target;
      const item = { tenantId, actionId: action.id, attempt };
      if (command.op === 'acknowledge') {
        same('acknowledge', await engine.acknowledge(db, item), acts.acknowledge(action, attempt));
        return;
      }
      const answer = await engine.extend(db, { ...item, leaseMs: LEASE_MS, mostMs: 3 * LEASE_MS });
      const extended = acts.extend(model, action, attempt, LEASE_MS, 3 * LEASE_MS);
      const until = extended ? leaseOf(action)?.until : null;
      same(
        'extend',
        { extended: answer.extended, until: answer.leaseUntil?.getTime() ?? null },
        { extended, until },
      );
      return;
    }
    case 'cancel':
    case 'redrive':
    case 'moveToFront':
    case 'makeDue': {
      if (all.length === 0) return;
      const action = at(all, command.action);
      const answer = await engine[command.op](db, { tenantId, actionId: action.id });
      const expected =
        command.op === 'cancel'
          ? acts.cancel(action)
          : command.op === 'redrive'
            ? acts.redrive(model, action)
            : command.op === 'makeDue'
              ? acts.makeDue(action)
              : acts.moveToFront(model, action);
      if (answer.outcome === 'due') seen.add('made due');
      same(command.op, answer, expected);
      return;
    }
    case 'cancelTagged': {
      const answer = await engine.cancelMatching(db, { ...ref(command.lane), tag: TAG });
      const hits = all.filter((a) => a.lane === laneOf(command.lane) && a.wanted.tags.includes(TAG));
      const outcomes = hits.map((action) => acts.cancel(action).outcome);
      const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
      same('cancelMatching', answer, { cancelled: count('cancelled'), requested: count('requested') });
      return;
    }
    case 'redriveAll': {
      const answer = await engine.redriveMatching(db, ref(command.lane));
      const dead = all
        .filter((action) => action.lane === laneOf(command.lane) && action.state === 'failed')
        .sort((a, b) => Number(a.id) - Number(b.id));
      for (const action of dead) acts.redrive(model, action);
      same('redriveMatching', answer, { redriven: dead.length });
      return;
    }
    case 'raiseGeneration':
      if (isPool(laneOf(command.lane)))
        return same(
          'raiseGeneration of a pool',
          await engine.raiseGeneration(db, ref(command.lane)).catch(codeOf),
          'MUSTER_UNKNOWN_LANE',
        );
      same(
        'raiseGeneration',
        await engine.raiseGeneration(db, ref(command.lane)),
        acts.raiseGeneration(model, laneOf(command.lane)),
      );
      return;
    case 'pauseLane':
      await (command.on ? engine.pauseLane : engine.resumeLane)(db, ref(command.lane));
      laneOf(command.lane).paused = command.on;
      return;
    case 'blockLane':
      if (command.on) await engine.blockLane(db, ref(command.lane), 'broken');
      else await engine.unblockLane(db, ref(command.lane));
      laneOf(command.lane).blocked = command.on ? 'broken' : null;
      return;
    case 'pauseTag':
      await (command.on ? engine.pause : engine.resume)(db, { tenantId, tag: TAG });
      if (command.on) model.pausedTags.add(TAG);
      else model.pausedTags.delete(TAG);
      return;
    case 'pauseTenant':
      await (command.on ? engine.pause : engine.resume)(db, { tenantId });
      model.pausedAll = command.on;
      return;
    case 'resumeEverything':
      return resumeEverything(world);
    case 'assignRunner': {
      const runner = command.runner === null ? null : at(runners, command.runner);
      await engine.assignRunner(db, ref(command.lane), runner?.id ?? null);
      laneOf(command.lane).runner = runner;
      return;
    }
    case 'setSlots': {
      const runner = at(runners, command.runner);
      await engine.setSlots(db, tenantId, runner.id, command.slots);
      runner.slots = command.slots;
      return;
    }
    case 'pass':
      clock.advance(command.ms);
      model.now += command.ms;
      for (const duty of EVERY_SECOND) await engine.runDuty(duty);
      acts.housekeep(model);
      return;
    case 'hear': {
      const until = model.now + command.ms;
      await world.contacts.heard(ref(command.lane), command.channel, new Date(until));
      laneOf(command.lane).heard.set(command.channel, until);
      return;
    }
    case 'compare':
      return compare(world);
  }
}

/** The attempt a command is about: usually that of a running action, or one before or after it. */
function named(world: World, command: { action: number; running: boolean; older: number }) {
  const all = [...world.model.actions.values()];
  const running = all.filter(leaseOf);
  const from = command.running && running.length > 0 ? running : all;
  if (from.length === 0) return null;
  const action = from[command.action % from.length] as Action;
  const latest = leaseOf(action)?.attempt ?? action.attempt;
  return { action, attempt: Math.max(1, latest - command.older) };
}

/** The lane it was handed out in, another lane, or nothing, in turn: it must not matter. */
function hinted({ lanes }: World, { id, at }: Action): string | undefined {
  return [at.id, lanes[Number(id) % lanes.length]?.id, undefined][Number(id) % 3];
}

function spell(world: World, command: Enqueue): Wanted {
  const time = (ms: number | null) => (ms === null ? null : world.model.now + ms);
  const { channel, urgent, maxAttempts, hold, onLeaseEnd, supersede, key } = command;
  return {
    ...{ channel, urgent, maxAttempts, hold, onLeaseEnd, supersede, key },
    tags: command.tagged ? [TAG] : [],
    notBefore: time(command.notBeforeIn),
    deliverBy: time(command.deliverByIn),
    deadline: time(command.deadlineIn),
    backoffMs: 2_000,
    backoffMaxMs: 5_000,
  };
}

function asked(wanted: Wanted): Omit<NewAction, 'tenantId' | 'laneId'> {
  const date = (ms: number | null) => (ms === null ? undefined : new Date(ms));
  const { channel, maxAttempts, onLeaseEnd, tags, backoffMs, backoffMaxMs } = wanted;
  return {
    kind: 'test',
    ...{ channel, maxAttempts, onLeaseEnd, tags, backoffMs, backoffMaxMs },
    priority: wanted.urgent ? 'urgent' : 'normal',
    notBefore: date(wanted.notBefore),
    deliverBy: date(wanted.deliverBy),
    deadline: date(wanted.deadline),
    headOfLine: wanted.hold ? 'hold' : 'skip',
    supersede: wanted.supersede ?? undefined,
    idempotencyKey: wanted.key ?? undefined,
  };
}

async function enqueue(world: World, lane: Lane, wanted: Wanted): Promise<void> {
  const { engine, tenantId, model } = world;
  const answer = await engine
    .enqueue(engine.db, { ...asked(wanted), tenantId, laneId: lane.id })
    .catch(codeOf);
  const id = typeof answer === 'string' ? '0' : answer.id;
  const expected = acts.enqueue(model, lane, wanted, id);
  seen.add(expected.outcome);
  const errors: Record<string, string> = {
    full: 'MUSTER_LANE_FULL',
    mismatch: 'MUSTER_IDEMPOTENCY_MISMATCH',
  };
  const told = typeof answer === 'string' ? answer : { id, outcome: answer.outcome };
  same('enqueue', told, errors[expected.outcome] ?? { id: expected.action?.id, outcome: expected.outcome });
  if (typeof answer === 'string' || !answer.created) return;
  // what it returns as created must equal a look-up
  const view = await engine.get(engine.db, tenantId, id);
  same(
    'created',
    { ...answer.created, space: view?.space, laneName: view?.laneName },
    { ...answer.created, ...view },
  );
}

/** The whole state, read back through the public calls. */
export async function compare(world: World): Promise<void> {
  const { engine, tenantId, model } = world;
  const { actions } = await engine.list(engine.db, { tenantId }, { limit: 1_000 });
  const { rows } = await engine.db.query({
    text: `select action_id, array_agg(type order by event_id)::int[] as types, array_agg(attempt order by event_id)::int[] as attempts
      from ${engine.schema}.history where tenant_id = $1 group by action_id`,
    values: [tenantId],
  });
  const histories = new Map(rows.map((row) => [row.action_id as string, row]));
  same('the number of actions', actions.length, model.actions.size);
  for (const view of actions) {
    const action = model.actions.get(view.id);
    if (!action) throw new Parted(`The model knows no action ${view.id}.`);
    const running = leaseOf(action);
    same(
      `action ${view.id}`,
      {
        state: view.state,
        attempt: view.attempt,
        reason: view.reason,
        waiting: view.waitingFor?.code ?? null,
        worker: view.worker,
        until: view.leaseUntil?.getTime() ?? null,
        failures: view.state === 'pending' || view.state === 'claimed' ? view.failures : 0,
      },
      {
        state: action.state,
        attempt: running?.attempt ?? action.attempt,
        reason: action.reason,
        waiting: waitingCode(model, action),
        worker: running?.worker ?? null,
        until: running?.until ?? null,
        failures: action.state === 'pending' || action.state === 'claimed' ? action.failures : 0,
      },
    );
    const until = view.waitingFor?.until?.getTime();
    if (!running && action.notBefore !== null && until !== undefined && until !== action.notBefore)
      throw new Parted(
        `action ${view.id}: the engine waits until ${until}, the model until ${action.notBefore}`,
      );
    const history = histories.get(view.id) ?? { types: [], attempts: [] };
    const names = (history.types as number[]).map((type, n) => `${eventName(type)} ${history.attempts[n]}`);
    same(
      `history of ${view.id}`,
      names,
      action.history.map((event) => `${event.type} ${event.attempt}`),
    );
    for (const event of action.history) seen.add(event.type);
    seen.add(`waiting for ${waitingCode(model, action)}`).add(`ended by ${action.reason}`);
    same(`replay of ${view.id}`, replay(action.history), view.state);
  }
  const counts = new Map<string, number>();
  for (const action of model.actions.values()) {
    const word = `${action.wanted.channel} ${action.state}`;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const counted = (await engine.counts(engine.db, tenantId)).map((one) => [
    `${one.channel} ${one.state}`,
    one.count,
  ]);
  same('counts', Object.fromEntries(counted.sort()), Object.fromEntries([...counts].sort()));
  for (const runner of world.runners) {
    const load = await runnerLoad(engine, tenantId, runner.id);
    const running = [...model.lanes.values()].filter((lane) => lane.lease?.runner === runner).length;
    same(`load of runner ${runner.id}`, load, { slots: runner.slots, running });
  }
}

async function resumeEverything(world: World): Promise<void> {
  const { engine, tenantId, model } = world;
  await engine.resume(engine.db, { tenantId });
  await engine.resume(engine.db, { tenantId, tag: TAG });
  model.pausedAll = false;
  model.pausedTags.clear();
  for (const lane of world.lanes) {
    if (lane.paused) await engine.resumeLane(engine.db, { tenantId, laneId: lane.id });
    if (lane.blocked !== null) await engine.unblockLane(engine.db, { tenantId, laneId: lane.id });
    lane.paused = false;
    lane.blocked = null;
  }
}

/** What every lane hands out from here on, to the last: the next of the next of the next. */
async function drain(world: World): Promise<void> {
  const { engine, tenantId, model, clock } = world;
  await resumeEverything(world);
  clock.advance(60_000);
  model.now += 60_000;
  for (const duty of EVERY_SECOND) await engine.runDuty(duty);
  acts.housekeep(model);
  for (const lane of world.lanes)
    for (const channel of ['a', 'b']) {
      const by = { worker: 'last', leaseMs: LEASE_MS, channel };
      let got = await engine.claim(engine.db, { tenantId, laneId: lane.id, ...by });
      for (;;) {
        const next = nextOf(model, lane, channel);
        const expected = acts.claim(model, lane, by) as Lease | null;
        same(`next of lane ${lane.id} on ${channel}`, claimedWords(got), leaseWords(expected));
        if (!got || !next) break;
        const done = await engine.report(engine.db, {
          tenantId,
          actionId: got.id,
          attempt: got.attempt,
          status: 'succeeded',
          next: by,
        });
        acts.report(model, next, got.attempt, 'succeeded');
        got = done.next;
      }
    }
  for (const channel of ['any', 'a', 'b']) await drainPool(world, channel);
}

async function drainPool(world: World, channel: string): Promise<void> {
  const { engine, tenantId, model } = world;
  const lane = world.lanes[LANES + 1] as Lane;
  const by = { worker: 'last', leaseMs: LEASE_MS, channel, normalShare: 0 };
  const poolId = lane.pool?.id as string;
  for (;;) {
    const answer = await engine.claimFromPool(engine.db, { tenantId, poolId, laneId: lane.id, ...by });
    const expected = acts.claimFromPool(model, lane, by);
    const got = answer.kind === 'claimed' ? claimedWords(answer.action) : answer.kind;
    same(
      `next of the pool on ${channel}`,
      got,
      expected === 'held' ? expected : (leaseWords(expected) ?? 'empty'),
    );
    if (answer.kind !== 'claimed' || !expected || expected === 'held') return;
    const { id: actionId, attempt } = answer.action;
    await engine.report(engine.db, { tenantId, actionId, attempt, status: 'succeeded' });
    acts.report(model, expected.action, attempt, 'succeeded');
  }
}
