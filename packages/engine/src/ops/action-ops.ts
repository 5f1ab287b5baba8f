import type { Calls } from '../calls.ts';
import type { Queryable } from '../db.ts';
import type { Context, Operation } from '../operation.ts';
import { checkText } from '../text.ts';
import { checkName, checkTenant, ifGiven, isId } from '../values.ts';
import { forEachMatch } from './by-filter.ts';
import { type CancelAnswer, createCancel } from './cancel.ts';
import type { ActionRef } from './change-named.ts';
import { createExpireNamed } from './expire-named.ts';
import type { ActionFilter, createLookUp } from './look-up.ts';
import { createMoveToFront, type MoveAnswer } from './move-to-front.ts';
import { createRedrive, type RedriveAnswer } from './redrive.ts';

/** What an operator does to actions: one by id, or all that match a filter. */
const UNFINISHED = ['pending', 'claimed', 'unfinished'];

const checkReason = (reason: string | undefined) => ifGiven(reason, (text) => checkText(text, 'reason'));

export function createActionOps(context: Context, calls: Calls, lookUp: ReturnType<typeof createLookUp>) {
  const cancel = createCancel(context);
  const redrive = createRedrive(context);
  const move = createMoveToFront(context);
  const expireNamed = createExpireNamed(context);

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
  ): Promise<Answer[]> {
    checkReason(reason);
    return forEachMatch(lookUp, client, filter, (ids) =>
      calls.many(
        operation,
        client,
        ids.map((actionId) => ({ tenantId: filter.tenantId, actionId, reason })),
      ),
    );
  }

  const count = (answers: readonly { outcome: string }[], outcome: string) =>
    answers.filter((answer) => answer.outcome === outcome).length;

  return {
    cancel: (client: Queryable, action: ActionRef): Promise<CancelAnswer> =>
      one(cancel, client, action, { outcome: 'unknown', state: null }),
    redrive: (client: Queryable, action: ActionRef): Promise<RedriveAnswer> =>
      one(redrive, client, action, { outcome: 'unknown', state: null }),
    moveToFront: (client: Queryable, action: ActionRef): Promise<MoveAnswer> =>
      one(move, client, action, { outcome: 'unknown', state: null }),

    /** Those among these that nobody holds end as expired. Says how many. */
    async expire(
      client: Queryable,
      named: { readonly tenantId: number; readonly actionIds: readonly string[]; readonly reason: string },
    ): Promise<number> {
      checkTenant(named.tenantId);
      checkName(named.reason, 'reason');
      const items = named.actionIds.filter(isId).map((actionId) => ({ ...named, actionId }));
      const ended = await calls.many(expireNamed, client, items);
      return ended.filter((answer) => answer === 'expired').length;
    },

    /** Everything unfinished that matches and was there when the call began. */
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

    /** Every dead letter that matches. */
    async redriveMatching(
      client: Queryable,
      filter: ActionFilter,
      reason?: string,
    ): Promise<{ redriven: number }> {
      if (filter.state !== undefined && filter.state !== 'failed') return { redriven: 0 };
      const answers = await byFilter(redrive, client, { ...filter, state: 'failed' }, reason);
      return { redriven: count(answers, 'redriven') };
    },
  };
}
