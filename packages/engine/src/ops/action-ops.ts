import type { Calls } from '../calls.ts';
import type { Queryable } from '../db.ts';
import type { Context, Operation } from '../operation.ts';
import { checkText } from '../text.ts';
import { checkName, checkTenant, ifGiven, isId } from '../values.ts';
import { whileLocked } from '../while-locked.ts';
import type { ActionFilter } from './action-filter.ts';
import { forEachMatch } from './by-filter.ts';
import { type CancelAnswer, createCancel } from './cancel.ts';
import type { ActionRef } from './change-named.ts';
import { createEndNamed } from './end-named.ts';
import type { createLookUp } from './look-up.ts';
import { createMakeDueNow, type MakeDueAnswer } from './make-due-now.ts';
import { createMoveToFront, type MoveAnswer } from './move-to-front.ts';
import { createRedrive, type RedriveAnswer } from './redrive.ts';

/** What an operator does to actions: one by id, or all that match a filter. */
const UNFINISHED = ['pending', 'claimed', 'unfinished'];

export interface Named {
  readonly tenantId: number;
  readonly actionIds: readonly string[];
  readonly reason: string;
}

/**
 * The actions among these that may be changed. It decides by facts that never change, or locks them until the
 * transaction ends.
 */
export type Allow = (client: Queryable, ids: readonly string[]) => Promise<readonly string[]>;

const checkReason = (reason: string | undefined) => ifGiven(reason, (text) => checkText(text, 'reason'));

export function createActionOps(context: Context, calls: Calls, lookUp: ReturnType<typeof createLookUp>) {
  const cancel = createCancel(context);
  const redrive = createRedrive(context);
  const move = createMoveToFront(context);
  const makeDue = createMakeDueNow(context);
  const cancelNamed = createEndNamed(context, 'cancelled');
  const expireNamed = createEndNamed(context, 'expired');
  const failNamed = createEndNamed(context, 'failed');
  const succeedNamed = createEndNamed(context, 'succeeded');

  async function one<Answer>(
    operation: Operation<ActionRef, Answer>,
    client: Queryable,
    action: ActionRef,
    unknown: Answer,
  ): Promise<Answer> {
    checkTenant(action.tenantId);
    checkReason(action.reason);
    if (!isId(action.actionId)) return unknown;
    return (await calls.many(operation, client, [action]))[0] as Answer;
  }

  async function byFilter<Answer extends { outcome: string }>(
    operation: Operation<ActionRef, Answer>,
    client: Queryable,
    filter: ActionFilter,
    reason: string | undefined,
    { allow = async (_, ids) => ids, holds = false }: { allow?: Allow | undefined; holds?: boolean } = {},
  ): Promise<Answer[]> {
    checkReason(reason);
    const perform = async (on: Queryable, ids: readonly string[]) =>
      calls.many(
        operation,
        on,
        (await allow(on, ids)).map((actionId) => ({ tenantId: filter.tenantId, actionId, reason })),
      );
    // locked facts need one transaction, in which one locked lane keeps the whole chunk waiting
    return forEachMatch(lookUp, client, filter, (ids) =>
      holds && client === calls.db ? whileLocked(calls.db, (tx) => perform(tx, ids)) : perform(client, ids),
    );
  }

  async function endNamed(
    operation: ReturnType<typeof createEndNamed>,
    client: Queryable,
    named: Named,
  ): Promise<number> {
    checkTenant(named.tenantId);
    checkName(named.reason, 'reason');
    const items = named.actionIds.filter(isId).map((actionId) => ({ ...named, actionId }));
    return (await calls.many(operation, client, items)).filter((answer) => answer === 'ended').length;
  }

  const count = (answers: readonly { outcome: string }[], outcome: string) =>
    answers.filter((answer) => answer.outcome === outcome).length;

  return {
    cancel: (client: Queryable, action: ActionRef): Promise<CancelAnswer> =>
      one(cancel, client, action, { outcome: 'unknown', state: null }),
    /** All in one statement, each as if alone. */
    cancelMany: (client: Queryable, tenantId: number, ids: readonly string[]): Promise<CancelAnswer[]> =>
      calls.many(
        cancel,
        client,
        ids.filter(isId).map((actionId) => ({ tenantId: checkTenant(tenantId), actionId })),
      ),
    redrive: (client: Queryable, action: ActionRef): Promise<RedriveAnswer> =>
      one(redrive, client, action, { outcome: 'unknown', state: null }),
    moveToFront: (client: Queryable, action: ActionRef): Promise<MoveAnswer> =>
      one(move, client, action, { outcome: 'unknown', state: null }),
    makeDue: (client: Queryable, action: ActionRef): Promise<MakeDueAnswer> =>
      one(makeDue, client, action, { outcome: 'unknown', state: null }),

    /** Expires those of these actions that are not held. Returns how many. */
    expire: (client: Queryable, named: Named) => endNamed(expireNamed, client, named),
    /** The same, but cancelled, with this reason instead of an operator's. */
    cancelPending: (client: Queryable, named: Named) => endNamed(cancelNamed, client, named),
    /** The same, as dead letters: they can be redriven. */
    fail: (client: Queryable, named: Named) => endNamed(failNamed, client, named),
    /** The same, as succeeded: what they were to bring about has already happened. */
    succeed: (client: Queryable, named: Named) => endNamed(succeedNamed, client, named),

    /** Everything unfinished that matches and existed when the call began. */
    async cancelMatching(
      client: Queryable,
      filter: ActionFilter,
      reason?: string,
    ): Promise<{ cancelled: number; requested: number }> {
      const state = filter.state ?? 'unfinished';
      if (!UNFINISHED.includes(state)) return { cancelled: 0, requested: 0 };
      const answers = await byFilter(cancel, client, { ...filter, state }, reason);
      return { cancelled: count(answers, 'cancelled'), requested: count(answers, 'requested') };
    },

    /** Every dead letter that matches; with `allow` only those that it lets pass, in the same transaction. */
    async redriveMatching(
      client: Queryable,
      filter: ActionFilter,
      reason?: string,
      allow?: Allow,
    ): Promise<{ redriven: number }> {
      if (filter.state !== undefined && filter.state !== 'failed') return { redriven: 0 };
      const failed = { ...filter, state: 'failed' } as const;
      const answers = await byFilter(redrive, client, failed, reason, { allow, holds: allow !== undefined });
      return { redriven: count(answers, 'redriven') };
    },

    /**
     * Everything that matches and waits for a time; with `allow` only what it lets pass, by facts that never change: it
     * locks nothing.
     */
    async makeDueMatching(
      client: Queryable,
      filter: ActionFilter,
      reason?: string,
      allow?: Allow,
    ): Promise<{ due: number }> {
      // a held action waits for no time
      if (![undefined, 'pending', 'unfinished'].includes(filter.state)) return { due: 0 };
      const waiting = { ...filter, state: 'pending', waitsForTime: true } as const;
      const answers = await byFilter(makeDue, client, waiting, reason, { allow });
      return { due: count(answers, 'due') };
    },
  };
}
