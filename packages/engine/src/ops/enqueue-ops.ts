import type { Calls } from '../calls.ts';
import type { ClaimedAction } from '../claimed-action.ts';
import type { Context } from '../context.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import { createEnqueue, type Enqueued, encodeAction, type NewAction } from './enqueue.ts';
import { createEnqueueAndClaim } from './enqueue-and-claim.ts';

export function createEnqueueOps(context: Context, calls: Calls) {
  const operation = createEnqueue(context);
  const plain = calls.gathered(operation);
  // Only a key can make an insert wait for somebody's open transaction: plain actions never share a statement with keys.
  const keyed = calls.gathered({ ...operation, name: 'enqueue-keyed' });
  const enqueueAndClaim = createEnqueueAndClaim(context);

  return {
    /** Adds one action. Throws an EngineError if the lane is unknown or full, or the key was used for another body. */
    async enqueue(client: Queryable, action: NewAction): Promise<Enqueued> {
      const encoded = encodeAction(context, action);
      const answer = await (encoded.key === null ? plain : keyed)(client, encoded);
      if (answer instanceof EngineError) throw answer;
      return answer;
    },

    /** Adds many in the order given, in one transaction; each has its own answer or error, and none fails another. */
    async enqueueMany(client: Queryable, actions: readonly NewAction[]): Promise<(Enqueued | EngineError)[]> {
      const encoded = actions.map((action) => encodeAction(context, action));
      if (client !== calls.db) return calls.many(operation, client, encoded);
      return calls.db.transaction((tx) => calls.many(operation, tx, encoded));
    },

    /** For each action whose lane is free, as long as the runner has slots: created and handed out in one statement. */
    async enqueueAndClaim(
      client: Queryable,
      request: {
        tenantId: number;
        runnerId: string;
        worker: string;
        leaseMs: number;
        actions: readonly Omit<NewAction, 'tenantId' | 'idempotencyKey' | 'supersede'>[];
      },
    ): Promise<(ClaimedAction | null)[]> {
      const actions = request.actions.map((action) =>
        encodeAction(context, { ...action, tenantId: request.tenantId }),
      );
      const run = await calls.inside(client, (inner) => enqueueAndClaim(inner, { ...request, actions }));
      return run.answers;
    },
  };
}
