import type { Engine, Queryable } from '@muster/engine';
import type { MusterError } from '../errors.ts';
import type { Caller } from '../tokens/caller.ts';

/**
 * What speaks against taking up a dead letter again. The engine redrives whatever has failed; only the door whose action it
 * is knows that nobody could ever have it: then it would wait for ever, or be ended by housekeeping, and the dead letter
 * would be gone.
 */
export interface DeadLetter {
  readonly id: string;
  readonly laneId: string;
  readonly channel: string;
}

export interface RedriveWish {
  readonly caller: Caller;
  /** What keeps a target from getting it and can be cleared, is. */
  readonly clearError?: boolean | undefined;
  /** A new action like it is to be made: then it does not matter how this one ended, and nothing is cleared for it. */
  readonly copy?: boolean | undefined;
}

/**
 * A door's refusals, by action. What it has looked at stays so until the end of the transaction. It is given the letters of
 * all doors and finds its own.
 */
export type RedriveRule = (
  tx: Queryable,
  tenantId: number,
  letters: readonly DeadLetter[],
  wish: RedriveWish,
) => Promise<ReadonlyMap<string, MusterError>>;

/** The sentence for what is for nobody any more, as the operator who wished for it hears it. */
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
    /** The same for actions that ended in any way and are to be done once more. */
    check,

    add: (rule: RedriveRule) => void rules.push(rule),

    /** Those of these dead letters that must stay what they are, and why. */
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
