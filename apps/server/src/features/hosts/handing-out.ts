import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../http/logging.ts';
import { ifNotSent, type LongPolls } from '../../http/long-poll.ts';
import type { agentOf } from './agent-access.ts';
import type { HandedToHosts } from './handed.ts';
import type { Metrics } from './metrics.ts';
import type { PollParameters } from './poll-parameters.ts';
import type { ServiceCache } from './service-cache.ts';
import { CHANNEL, payloadOf, wireLocked } from './wire.ts';

/** Locks actions for the agent at the other end of a socket, waits with it, and takes them back if it is gone. */
export type HandingOut = ReturnType<typeof createHandingOut>;

export interface To {
  readonly agent: ReturnType<typeof agentOf>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export function createHandingOut(tools: {
  cache: ServiceCache;
  engine: Engine;
  handed: HandedToHosts;
  leaseMs: number;
  log: Log;
  longPolls: LongPolls;
  metrics: Metrics;
}) {
  const { cache, engine, handed, leaseMs, log, longPolls, metrics } = tools;

  function takeBack(actions: readonly ClaimedAction[]): void {
    for (const { tenantId, id: actionId, attempt } of actions)
      engine
        .release(engine.db, {
          tenantId,
          actionId,
          attempt,
          channel: CHANNEL,
          reason: 'The connection was gone.',
        })
        .catch((error) => log.warn({ err: error, actionId }, 'An action could not be taken back.'));
  }

  /** With the services they are for. One whose service was deleted meanwhile has ended with it. */
  async function describe(tenantId: number, actions: readonly ClaimedAction[]) {
    const services = await cache.getMany(
      tenantId,
      actions.map((action) => payloadOf(action).serviceId),
    );
    return actions.flatMap((action) => {
      const service = services.get(payloadOf(action).serviceId);
      if (!service) return [];
      handed.remember(tenantId, action.id, {
        hostId: service.hostId,
        attempt: action.attempt,
        at: action.leasedAt,
      });
      return [wireLocked(action, service)];
    });
  }

  return {
    describe,

    /**
     * Newly locked actions for the answer; nobody but the receiver of this very answer has them. `mustAnswer`: a report was
     * taken with the same request.
     */
    async claim({ agent, request, reply }: To, { max, wait }: PollParameters, mustAnswer = false) {
      const { tenantId, runnerId, worker } = agent;
      const began = performance.now();
      const claimed = await longPolls.run(
        request,
        wait,
        (waiting) =>
          engine.claimSlots(engine.db, {
            tenantId,
            runnerId,
            channel: CHANNEL,
            worker,
            leaseMs,
            max,
            ...waiting,
          }),
        [],
        mustAnswer,
      );
      metrics.polled(tenantId, claimed, (performance.now() - began) / 1_000);
      if (claimed.length === 0) return [];
      ifNotSent(request, reply, () => takeBack(claimed));
      try {
        return await describe(tenantId, claimed);
      } catch (error) {
        takeBack(claimed);
        throw error;
      }
    },
  };
}
