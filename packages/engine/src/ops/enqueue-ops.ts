import type { Calls } from '../calls.ts';
import type { ClaimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import type { Context } from '../operation.ts';
import {
  createEnqueue,
  type EncodedAction,
  type Enqueued,
  encodeAction,
  enqueued,
  type NewAction,
  type Verdict,
} from './enqueue.ts';
import { createEnqueueAndClaim } from './enqueue-and-claim.ts';
import { checkForRunners, type ForRunner } from './for-runners.ts';
import type { LaneRooms } from './lane-rooms.ts';

function tryToEncode(context: Context, action: NewAction, tell: boolean): EncodedAction | EngineError {
  try {
    return encodeAction(context, action, tell);
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
}

/** An action handed out on creation waits for nothing and replaces nothing. */
function refuseWaiting(action: Partial<NewAction>): void {
  for (const name of ['notBefore', 'idempotencyKey', 'supersede'] as const)
    if (action[name] !== undefined)
      throw new EngineError(
        'MUSTER_BAD_VALUE',
        `${name} is not allowed for an action that is handed out at once.`,
      );
}

type ToEnqueueAndClaim = ForRunner & {
  readonly actions: readonly Omit<NewAction, 'tenantId' | 'idempotencyKey' | 'supersede' | 'notBefore'>[];
};

export function createEnqueueOps(context: Context, calls: Calls, rooms: LaneRooms) {
  const operation = createEnqueue(context, rooms);
  const plain = calls.gathered(operation);
  // Only a key can make an insert wait for an open transaction: plain actions never share a statement with keys.
  const keyed = calls.gathered({ ...operation, name: 'enqueue-keyed' });
  const enqueueAndClaim = createEnqueueAndClaim(context);

  return {
    /**
     * Adds one action; `created: true` returns all of it. Throws an EngineError if the lane is unknown or full, or the
     * key was used for another body.
     */
    async enqueue(
      client: Queryable,
      action: NewAction,
      answer: { created: boolean } = { created: false },
    ): Promise<Enqueued> {
      const encoded = encodeAction(context, action, answer.created);
      const verdict = await (encoded.key === null ? plain : keyed)(client, encoded);
      if (verdict instanceof EngineError) throw verdict;
      return enqueued(action, encoded, verdict);
    },

    /** Adds many in the order given, in one transaction; each has its own answer or error, and none fails another. */
    async enqueueMany(
      client: Queryable,
      actions: readonly NewAction[],
      answer: { created: boolean } = { created: false },
    ): Promise<(Enqueued | EngineError)[]> {
      const encoded = actions.map((action) => tryToEncode(context, action, answer.created));
      const good = encoded.filter((action) => !(action instanceof EngineError));
      const answers = await calls.many(operation, client, good, { whole: true });
      let next = 0;
      return encoded.map((action, n) => {
        if (action instanceof EngineError) return action;
        const verdict = answers[next++] as Verdict | EngineError;
        return verdict instanceof EngineError ? verdict : enqueued(actions[n] as NewAction, action, verdict);
      });
    },

    /**
     * For each action whose lane is free, as long as the runner has slots: created and handed out in one statement. One
     * list for each request: several runners, each named once.
     */
    async enqueueAndClaimMany(
      client: Queryable,
      requests: readonly ToEnqueueAndClaim[],
    ): Promise<(ClaimedAction | null)[][]> {
      checkForRunners(requests);
      const encoded = requests.map((request) => ({
        ...request,
        actions: request.actions.map((action) => {
          refuseWaiting(action);
          return encodeAction(context, { ...action, tenantId: request.tenantId });
        }),
      }));
      const { answers } = await calls.inside(client, (inner) => enqueueAndClaim(inner, encoded));
      for (const { actions } of encoded) for (const { line } of actions) rooms.forget(line);
      return answers;
    },
  };
}
