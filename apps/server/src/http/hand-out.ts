import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from './logging.ts';
import { ifNotSent, type LongPolls, type Wait } from './long-poll.ts';

/**
 * Hands actions of one channel to a connected client: waits with its request, and releases what it never received.
 *
 *   claim (with a wait) ──► described ──► answer written out
 *                               │             └──no: released
 *                               └──failed: released, and the client gets only the error
 */
export interface To {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export type HandOut = ReturnType<typeof createHandOut>;

export function createHandOut(
  { engine, log, longPolls }: { engine: Engine; log: Log; longPolls: LongPolls },
  channel: string,
) {
  async function release(actions: readonly ClaimedAction[]): Promise<void> {
    for (const { tenantId, id: actionId, attempt } of actions)
      await engine.release(engine.db, {
        tenantId,
        actionId,
        attempt,
        channel,
        reason: 'The client disconnected.',
      });
  }

  /** In the background. An attempt that was ended by its delivery stays ended. */
  function takeBack(actions: readonly ClaimedAction[]): void {
    release(actions).catch((error) =>
      log.warn(
        { err: error, channel },
        'The attempt could not be released after its client had disconnected.',
      ),
    );
  }

  return {
    release,
    takeBack,

    /** Waits at most this many seconds; 0 looks once. `mustAnswer`: the same request also reported something. */
    claim: <T>(
      { request }: To,
      waitSeconds: number,
      claim: (wait: Wait) => Promise<T>,
      nothing: T,
      mustAnswer = false,
    ): Promise<T> => longPolls.run(request, waitSeconds, claim, nothing, mustAnswer),

    /** Describes them for the answer. What was newly claimed is known only to the receiver of this very answer. */
    async give<T>(
      { request, reply }: To,
      actions: readonly ClaimedAction[],
      describe: () => T | Promise<T>,
    ): Promise<T> {
      // A redelivered action was received before, so it is kept even if this connection is gone.
      const fresh = actions.filter((action) => !action.redelivered);
      if (fresh.length > 0) ifNotSent(request, reply, () => takeBack(fresh));
      try {
        return await describe();
      } catch (error) {
        takeBack(fresh);
        throw error;
      }
    },
  };
}
