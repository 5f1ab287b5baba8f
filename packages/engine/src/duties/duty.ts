import type { Queryable } from '../db.ts';
import type { Run } from '../operation.ts';
import type { LaneRef } from '../ops/lanes.ts';

/** A duty of housekeeping: one statement over all tenants, safe with two leaders, called directly by tests. */
export interface Duty {
  readonly name: string;
  readonly everyMs: number;
  /** In SQL, with `$1` as the time: is there anything to do? Asked for all duties at once; without it, always. */
  readonly due?: string;
  /** It cannot be part of a transaction, and changes no action. */
  readonly isOutside?: boolean;
  /**
   * It reads an index in its order and stops after some rows. Statistics that call the rest few must not turn that into
   * a sort of all there is, so nothing else is planned for it.
   */
  readonly byIndex?: boolean;
  /** Says how much it did; `more` asks to be called again soon. */
  runOnce(client: Queryable, on?: OnLanes): Promise<DutyRun>;
}

/** Which lanes a duty is to work on, where its transitions have effects that threw. */
export interface OnLanes {
  /** These alone. */
  readonly lanes?: readonly LaneRef[] | undefined;
  /** All but these. */
  readonly except?: readonly LaneRef[] | undefined;
  /** To see which lanes it would change; it is undone then. */
  readonly withoutEffects?: boolean | undefined;
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
