import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from './logging.ts';
import { ifNotSent, type LongPolls, type Wait } from './long-poll.ts';

/**
 * Actions of one channel for whoever is at the other end of a socket: waits with him, and takes back what he never got.
 *
 *   claim (with a wait) ──► described ──► answer written out
 *                               │             └──no: taken back
 *                               └──it cannot be: taken back, and he hears of the error only
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
        reason: 'The connection was gone.',
      });
  }

  /** In the background. One that ended with its delivery stays ended. */
  function takeBack(actions: readonly ClaimedAction[]): void {
    release(actions).catch((error) =>
      log.warn({ err: error, channel }, 'The attempt could not be released after its client was gone.'),
    );
  }

  return {
    release,
    takeBack,

    /** Waits so many seconds at most; 0 looks once. `mustAnswer`: a report was taken with the same request. */
    claim: <T>(
      { request }: To,
      waitSeconds: number,
      claim: (wait: Wait) => Promise<T>,
      nothing: T,
      mustAnswer = false,
    ): Promise<T> => longPolls.run(request, waitSeconds, claim, nothing, mustAnswer),

    /** What the answer says of them. Nobody but the receiver of this very answer has what was newly claimed. */
    async give<T>(
      { request, reply }: To,
      actions: readonly ClaimedAction[],
      describe: () => T | Promise<T>,
    ): Promise<T> {
      // A redelivered one is in his hands already, whatever becomes of this connection.
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
