import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyRequest } from 'fastify';
import type { LongPolls } from '../../http/long-poll.ts';
import type { Runner } from './runner-access.ts';
import { CHANNEL } from './wire.ts';

/**
 * Which of a runner's attempts are no longer wanted. One look for all of them, and none while it waits for such news.
 */
interface Named {
  readonly id: string;
  readonly attempt: number;
  readonly stopping?: boolean | undefined;
}

export type Watching = ReturnType<typeof createWatching>;

export function createWatching({ engine, longPolls }: { engine: Engine; longPolls: LongPolls }) {
  const held = async (runner: Runner) =>
    (await engine.held(engine.db, runner)).filter(
      ({ channel, worker }) => channel === CHANNEL && worker === runner.worker,
    );

  /** Those it named, and others of this runner that were cancelled: they have just been handed out. */
  function beatsOf(named: readonly Named[], own: readonly ClaimedAction[]) {
    const others = own.filter(
      ({ cancelRequested, id }) => cancelRequested && !named.some((one) => one.id === id),
    );
    return [...named, ...others].map(({ id, attempt }) => {
      const found = own.find((action) => action.id === id && action.attempt === attempt);
      return {
        id,
        attempt,
        running: found !== undefined,
        timeoutAt: found?.leaseUntil,
        cancelRequested: found?.cancelRequested || undefined,
      };
    });
  }

  function isNews(named: readonly Named[], beats: ReturnType<typeof beatsOf>): boolean {
    const stopping = new Set(named.filter((one) => one.stopping).map(({ id }) => id));
    return beats.some(
      ({ cancelRequested, id, running }) => !stopping.has(id) && (!running || cancelRequested),
    );
  }

  return async (runner: Runner, named: readonly Named[], seconds: number, request: FastifyRequest) => {
    const look = async () => beatsOf(named, await held(runner));
    if (seconds > 0)
      await longPolls.run(
        request,
        seconds,
        (waiting) =>
          engine.watchHeld(
            { tenantId: runner.tenantId, runnerId: runner.runnerId, ...waiting },
            look,
            (beats) => isNews(named, beats),
          ),
        [],
        true,
      );
    return look();
  };
}
