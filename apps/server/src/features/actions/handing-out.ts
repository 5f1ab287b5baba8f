import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../http/logging.ts';
import { ifNotSent, type LongPolls } from '../../http/long-poll.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { HandedToWorkers } from './handed.ts';
import { GENERIC } from './lanes.ts';
import { wireClaimed } from './wire.ts';

/** A claim for somebody at the other end of a socket: waits with it, and takes the action back if it is gone. */
export interface HandOut {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  readonly laneId: string;
  readonly lane: string | null;
  readonly worker: string;
  readonly leaseMs: number;
  readonly waitSeconds: number;
  /** Never this action: its report was just refused. */
  readonly except?: string | undefined;
  /** A report was taken with the same request. */
  readonly mustAnswer?: boolean;
}

export function createHandingOut(tools: {
  engine: Engine;
  handed: HandedToWorkers;
  log: Log;
  longPolls: LongPolls;
}) {
  const { engine, handed, log, longPolls } = tools;

  function takeBack(action: ClaimedAction): void {
    const { tenantId, id: actionId, attempt } = action;
    engine
      .release(engine.db, {
        tenantId,
        actionId,
        attempt,
        channel: GENERIC,
        reason: 'The connection was gone.',
      })
      .catch((error) => log.warn({ err: error, actionId }, 'An action could not be taken back.'));
  }

  /** What goes into the answer. Nobody but the receiver of this very answer has a newly claimed action. */
  function give(to: Omit<HandOut, 'laneId' | 'leaseMs' | 'waitSeconds'>, action: ClaimedAction | null) {
    if (!action) return [];
    handed.remember(action.tenantId, action.id, { lane: to.lane, worker: to.worker });
    // A redelivered one is in the worker's hands already, whatever becomes of this connection.
    if (!action.redelivered) ifNotSent(to.request, to.reply, () => takeBack(action));
    return [wireClaimed(action)];
  }

  return {
    give,
    async claim(to: HandOut) {
      const { laneId, worker, leaseMs, except } = to;
      const { tenantId } = to.caller;
      const action = await longPolls.run(
        to.request,
        to.waitSeconds,
        (wait) =>
          engine.claim(engine.db, { tenantId, laneId, channel: GENERIC, worker, leaseMs, except, ...wait }),
        null,
        to.mustAnswer,
      );
      return give(to, action);
    },
  };
}

export type HandingOut = ReturnType<typeof createHandingOut>;
