import type { ClaimedAction, Engine } from '@muster/engine';
import type { HandOut, To } from '../../http/hand-out.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { HandedToWorkers } from './handed.ts';
import { GENERIC } from './lanes.ts';
import { wireClaimed } from './wire.ts';

/** A connected worker. */
export interface ToWorker extends To {
  readonly caller: Caller;
  /** Null: no report of this caller is checked for it. */
  readonly lane: string | null;
  readonly worker: string;
  /** Its reports say who it is. */
  readonly names: boolean;
}

export interface LaneClaim extends ToWorker {
  readonly laneId: string;
  readonly leaseMs: number;
  readonly waitSeconds: number;
  /** Never this action, whose report was just refused. */
  readonly except?: string | undefined;
  /** The same request also reported something. */
  readonly mustAnswer?: boolean;
}

export type HandingOut = ReturnType<typeof createHandingOut>;

export function createHandingOut(tools: { engine: Engine; handed: HandedToWorkers; handOut: HandOut }) {
  const { engine, handed, handOut } = tools;

  async function give(to: ToWorker, action: ClaimedAction | null) {
    if (!action) return [];
    return handOut.give(to, [action], () => {
      // remembered only where it saves a look-up: it took a tenth of the requests per second
      if (to.lane !== null || !to.names)
        handed.remember(action.tenantId, action.id, {
          attempt: action.attempt,
          lane: to.lane,
          worker: to.worker,
        });
      return [wireClaimed(action)];
    });
  }

  return {
    give,

    async claim(to: LaneClaim) {
      const { laneId, worker, leaseMs, except } = to;
      const { tenantId } = to.caller;
      const action = await handOut.claim(
        to,
        to.waitSeconds,
        ({ waitMs, signal }) =>
          engine.claim(engine.db, {
            tenantId,
            laneId,
            channel: GENERIC,
            worker,
            leaseMs,
            except,
            waitMs,
            signal,
          }),
        null,
        to.mustAnswer,
      );
      return give(to, action);
    },
  };
}
