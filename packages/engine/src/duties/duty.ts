import type { Run } from '../context.ts';
import type { Queryable } from '../db.ts';

/** A duty of housekeeping: one statement over all tenants, safe with two leaders, called directly by tests. */
export interface Duty {
  readonly name: string;
  readonly everyMs: number;
  /** In SQL, with `$1` as the time: is there anything to do? Asked for all duties at once; without it, always. */
  readonly due?: string;
  /** It cannot be part of a transaction, and changes no action. */
  readonly isOutside?: boolean;
  /**
   * Says how much it did; `more` asks to be called again at once. With `lanes` it works on those only: a duty whose
   * transitions have effects is asked so for one part after the other if an effect throws.
   */
  runOnce(client: Queryable, lanes?: readonly string[]): Promise<DutyRun>;
}

export interface DutyRun extends Run<never> {
  readonly count: number;
  readonly more: boolean;
}

export function dutyRun(count: number, most: number, run: Partial<Run<never>> = {}): DutyRun {
  return {
    answers: [],
    transitions: run.transitions ?? [],
    wakes: run.wakes ?? [],
    count,
    more: count >= most,
  };
}
