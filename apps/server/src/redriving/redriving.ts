import type { Engine, Queryable } from '@muster/engine';
import type { MusterError } from '../errors.ts';
import type { Caller } from '../tokens/caller.ts';

/**
 * Reasons not to redrive a dead letter. The engine redrives any failed action; only its door knows when nothing could
 * ever execute it: then it would wait for ever, or be ended by housekeeping, and the dead letter would be gone.
 */
export interface DeadLetter {
  readonly id: string;
  readonly laneId: string;
  readonly channel: string;
}

export interface RedriveWish {
  readonly caller: Caller;
  /** Clears what can be cleared of the obstacles, such as the error of a device. */
  readonly clearError?: boolean | undefined;
  /** A new action like it is to be created: then its own end does not matter, and nothing is cleared for it. */
  readonly copy?: boolean | undefined;
}

/**
 * A door's refusals, by action. What it has checked is locked until the transaction ends. It gets the letters of all
 * doors and picks its own.
 */
export type RedriveRule = (
  tx: Queryable,
  tenantId: number,
  letters: readonly DeadLetter[],
  wish: RedriveWish,
) => Promise<ReadonlyMap<string, MusterError>>;

/** The error for an action that nothing can execute any more. */
export const nobodyCouldHave = (why: string, { copy }: Pick<RedriveWish, 'copy'>) =>
  `${why} ${copy ? 'The action cannot be copied.' : 'The action stays a dead letter.'}`;

export type Redriving = ReturnType<typeof createRedriving>;

export function createRedriving({ schema: s }: Engine) {
  const rules: RedriveRule[] = [];

  async function lettersOf(tx: Queryable, tenantId: number, ids: readonly string[]): Promise<DeadLetter[]> {
    const { rows } = await tx.query({
      name: 'muster_dead_letters',
      text: `select x.action_id, x.lane_id, x.channel from unnest((select $2::bigint[])) i(action_id)
        cross join lateral (
          select * from ${s}.action_states x where x.tenant_id = $1 and x.action_id = i.action_id limit 1
        ) x where x.state = 'failed'`,
      values: [tenantId, ids],
    });
    return rows.map((row) => ({ id: row.action_id, laneId: row.lane_id, channel: row.channel }));
  }

  async function check(
    tx: Queryable,
    tenantId: number,
    letters: readonly DeadLetter[],
    wish: RedriveWish,
  ): Promise<Map<string, MusterError>> {
    const refused = new Map<string, MusterError>();
    let left = letters;
    for (const rule of rules) {
      if (left.length === 0) break;
      for (const [id, error] of await rule(tx, tenantId, left, wish)) refused.set(id, error);
      left = left.filter(({ id }) => !refused.has(id));
    }
    return refused;
  }

  return {
    /** The same for actions that ended in any way and are to be run again. */
    check,

    add: (rule: RedriveRule) => void rules.push(rule),

    /** Those of these dead letters that must not be redriven, and why. */
    async refusals(
      tx: Queryable,
      tenantId: number,
      ids: readonly string[],
      wish: RedriveWish,
    ): Promise<Map<string, MusterError>> {
      return check(tx, tenantId, await lettersOf(tx, tenantId, ids), wish);
    },
  };
}
