import { ofTenant } from './by-tenant.ts';
import type { Calls } from './calls.ts';
import type { Queryable } from './db.ts';
import type { Duty, DutyRun, OnLanes } from './duties/duty.ts';
import type { Context } from './operation.ts';
import type { LaneRef } from './ops/lanes.ts';
import { isDataError } from './sqlstate.ts';
import type { Transition } from './transition.ts';

/**
 * Runs one round of a duty. A failing effect undoes the transitions of its own lane only: the lanes are halved until it
 * is alone. A round without effects, which is rolled back, shows which lanes there are. The failing lane is then left
 * out for a while, longer each time, so that 500 such lanes at the front do not keep the duty from those behind them.
 * Only this node remembers; another leader finds out anew.
 *
 * On one node a duty runs once at a time: a second run would skip what the first has locked, and its caller would take
 * the work for done.
 */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** What `byIndex` rules out: sequential scans, and sorts of all due rows. */
export const BY_INDEX = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
  .map((way) => `set local enable_${way} = off`)
  .join('; ');

export interface PerformedDuty extends DutyRun {
  /** Why effects failed: one error for each lane that was left out. */
  readonly errors: readonly Error[];
}

interface LeftOut {
  readonly lane: LaneRef;
  readonly pauseMs: number;
  readonly until: number;
}

export function createPerformDuty(context: Context & { readonly tenants: string }, calls: Calls) {
  const memory = new Map<string, Map<string, LeftOut>>();
  const running = new Map<string, Promise<unknown>>();
  const time = () => context.now().getTime();

  /** The lanes that a round would change without effects. */
  async function lanesToChange(duty: Duty, on: OnLanes): Promise<LaneRef[]> {
    let lanes: LaneRef[] = [];
    await calls
      .inHousekeeping(async (tx) => {
        if (duty.byIndex) await tx.query({ text: BY_INDEX });
        lanes = lanesOf((await duty.runOnce(of(tx, on), { ...on, withoutEffects: true })).transitions);
        throw UNDONE;
      })
      .catch((error) => {
        if (error !== UNDONE) throw error;
      });
    return lanes;
  }

  /** With `on.lanes` one part of a round whose effects failed. */
  async function perform(
    duty: Duty,
    on: OnLanes,
    leftOut: Map<string, LeftOut>,
    errors: Error[],
  ): Promise<DutyRun> {
    try {
      const run = await calls.inHousekeeping(async (tx) => {
        if (duty.byIndex) await tx.query({ text: BY_INDEX });
        return duty.runOnce(of(tx, on), on);
      });
      for (const { laneId } of lanesOf(run.transitions)) leftOut.delete(laneId);
      return run;
    } catch (error) {
      if (!isDataError(error)) throw error;
      const touched = on.lanes ?? (await lanesToChange(duty, on));
      const [lane, ...others] = touched;
      if (!lane) throw error;
      if (others.length > 0) {
        const half = Math.ceil(touched.length / 2);
        const first = await perform(duty, { ...on, lanes: touched.slice(0, half) }, leftOut, errors);
        const second = await perform(duty, { ...on, lanes: touched.slice(half) }, leftOut, errors);
        return { ...NOTHING, count: first.count + second.count, more: true };
      }
      const pauseMs = Math.min(
        (leftOut.get(lane.laneId)?.pauseMs ?? FIRST_PAUSE_MS / 2) * 2,
        LONGEST_PAUSE_MS,
      );
      leftOut.set(lane.laneId, { lane, pauseMs, until: time() + pauseMs });
      errors.push(error as Error);
      return { ...NOTHING, more: true };
    }
  }

  async function performOne(duty: Duty): Promise<PerformedDuty> {
    await context.ready(calls.db.housekeeping);
    if (duty.isOutside) return { ...(await duty.runOnce(calls.db.housekeeping)), errors: [] };
    const leftOut = memory.get(duty.name) ?? new Map<string, LeftOut>();
    memory.set(duty.name, leftOut);
    const now = time();
    const except = [...leftOut.values()].filter(({ until }) => until > now).map(({ lane }) => lane);
    const errors: Error[] = [];
    let run: PerformedDuty = { ...NOTHING, errors };
    for (const tenantId of await whose(duty)) {
      const { count, more } = await perform(duty, { except, tenantId }, leftOut, errors);
      run = { ...run, count: run.count + count, more: run.more || more };
    }
    return run;
  }

  /** Undefined: all tenants at once. */
  async function whose(duty: Duty): Promise<readonly (number | undefined)[]> {
    if (!context.isDistributed || duty.whose === null) return [undefined];
    const text =
      duty.whose ?? `select t.tenant_id from (${context.tenants}) t where $1::timestamptz is not null`;
    const { rows } = await calls.db.housekeeping.query({ text, values: [context.now()] });
    return rows.map((row) => row.tenant_id);
  }

  return (duty: Duty): Promise<PerformedDuty> => {
    const run = (running.get(duty.name) ?? Promise.resolve()).then(() => performOne(duty));
    running.set(
      duty.name,
      run.catch(() => {}),
    );
    return run;
  };
}

const of = (tx: Queryable, { tenantId }: OnLanes) => (tenantId === undefined ? tx : ofTenant(tx, tenantId));

const UNDONE = new Error('undone');

const NOTHING: DutyRun = { answers: [], transitions: [], wakes: [], count: 0, more: false };

function lanesOf(transitions: readonly Transition[]): LaneRef[] {
  return [...new Map(transitions.map(({ tenantId, laneId }) => [laneId, { tenantId, laneId }])).values()];
}
