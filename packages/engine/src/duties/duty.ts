import type { Queryable } from '../db.ts';
import type { Run } from '../operation.ts';
import type { LaneRef } from '../ops/lanes.ts';

/** A housekeeping duty: one statement over all tenants, safe with two leaders, called directly by tests. */
export interface Duty {
  readonly name: string;
  readonly everyMs: number;
  /**
   * SQL with `$1` as the time: is there anything to do? All duties are asked in one query; a duty without it always
   * runs.
   */
  readonly due?: string;
  /**
   * On a distributed database a statement is of one tenant, so the duty runs once for each. A select of those that it
   * has something to do for, with `$1` as the time; by default all there are. Null: it is about none of them, or knows
   * their statements apart, and runs once.
   */
  readonly whose?: string | null;
  /** It cannot run inside a transaction, and changes no action. */
  readonly isOutside?: boolean;
  /**
   * It reads an index in order and stops after some rows. Statistics that underestimate the rest must not turn that
   * into a sort of everything, so the planner is given no other choice.
   */
  readonly byIndex?: boolean;
  /** Says how much it did; `more` asks for another call soon. */
  runOnce(client: Queryable, on?: OnLanes): Promise<DutyRun>;
}

/** The lanes that a duty works on, when effects of its transitions threw. */
export interface OnLanes {
  /** Only these. */
  readonly lanes?: readonly LaneRef[] | undefined;
  /** All but these. */
  readonly except?: readonly LaneRef[] | undefined;
  /** A trial run, to see which lanes it would change; it is rolled back. */
  readonly withoutEffects?: boolean | undefined;
  /** The tenant whose turn it is, on a distributed database. */
  readonly tenantId?: number | undefined;
}

/** For `Ask`. */
export const channelsFor = (on: OnLanes): readonly string[] | null => (on.withoutEffects ? [] : null);

export const laneIds = (lanes: readonly LaneRef[] | undefined) => lanes?.map(({ laneId }) => laneId) ?? null;

export interface DutyRun extends Run<never> {
  readonly count: number;
  readonly more: boolean;
}

export function dutyRun(count: number, most: number, run: Partial<Run<never>> = {}): DutyRun {
  return {
    answers: [],
    transitions: run.transitions ?? [],
    wakes: run.wakes ?? [],
    told: run.told ?? [],
    count,
    more: count >= most,
  };
}
