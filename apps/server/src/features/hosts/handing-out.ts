import type { ClaimedAction, Engine } from '@muster/engine';
import type { HandOut, To } from '../../http/hand-out.ts';
import type { Agent } from './agent-access.ts';
import type { HandedToHosts } from './handed.ts';
import type { Metrics } from './metrics.ts';
import type { PollParameters } from './poll-parameters.ts';
import type { ServiceCache } from './service-cache.ts';
import { CHANNEL, payloadOf, wireLocked } from './wire.ts';

/** Hands out actions to a connected agent ("locks" them, in its words). */
export type HandingOut = ReturnType<typeof createHandingOut>;

export interface ToAgent extends To {
  readonly agent: Agent;
}

export function createHandingOut(tools: {
  cache: ServiceCache;
  engine: Engine;
  handed: HandedToHosts;
  handOut: HandOut;
  leaseMs: number;
  metrics: Metrics;
}) {
  const { cache, engine, handed, handOut, leaseMs, metrics } = tools;

  /** Adds their services. If its service was deleted meanwhile, an action has ended. */
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

    /** Also ends, without actions, when something the agent holds is cancelled meanwhile. */
    async poll(to: ToAgent, parameters: PollParameters) {
      const { agent } = to;
      let cancelled: string[] = [];
      const actions = await this.claim(to, parameters, false, async () => {
        cancelled = (await engine.held(engine.db, agent))
          .filter(({ cancelRequested, worker }) => cancelRequested && worker === agent.worker)
          .map(({ id, attempt }) => `${id}:${attempt}`);
        return cancelled.length > 0;
      });
      return { actions, cancelled };
    },

    /** Newly locked actions for the answer. `mustAnswer`: the same request also reported something. */
    async claim(
      to: ToAgent,
      { max, wait }: PollParameters,
      mustAnswer = false,
      news?: () => Promise<boolean>,
    ) {
      const { tenantId, runnerId, worker } = to.agent;
      const began = performance.now();
      const claimed = await handOut.claim(
        to,
        wait,
        ({ waitMs, signal }) =>
          engine.claimSlots(engine.db, {
            tenantId,
            runnerId,
            channel: CHANNEL,
            worker,
            leaseMs,
            max,
            waitMs,
            signal,
            news,
          }),
        [],
        mustAnswer,
      );
      metrics.polled(tenantId, claimed, (performance.now() - began) / 1_000);
      return handOut.give(to, claimed, () => describe(tenantId, claimed));
    },
  };
}
