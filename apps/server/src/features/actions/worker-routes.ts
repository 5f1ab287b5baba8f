import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import { operators } from '../../http/access.ts';
import { type CallOf, defineRoute, type Route } from '../../http/define-route.ts';
import { checkReportSize } from '../../http/report-size.ts';
import type { HandedToWorkers } from './handed.ts';
import type { HandingOut } from './handing-out.ts';
import { GENERIC, type Lanes } from './lanes.ts';
import { checkAction, checkLane, isRestricted, notReportedHere } from './restriction.ts';

/** Operations of workers: claim, report, extend, release; in generic lanes only. */
const workers = operators('operator', 'worker');

export function workerRoutes(tools: {
  engine: Engine;
  handed: HandedToWorkers;
  handingOut: HandingOut;
  lanes: Lanes;
  leaseSeconds: number;
}): Route[] {
  const { engine, handed, handingOut, lanes } = tools;
  const leaseMs = (seconds: number | undefined) => Math.round((seconds ?? tools.leaseSeconds) * 1_000);

  /** The name under which the next action is claimed, if the report does not give one. */
  async function holderOf({ body, caller, params }: CallOf<typeof api.actions.report>): Promise<string> {
    const remembered = handed.get(caller.tenantId, params.id);
    if (remembered?.attempt === body.attempt) return remembered.worker;
    return (await engine.get(engine.db, caller.tenantId, params.id))?.worker ?? caller.name;
  }

  async function stateOf(tenantId: number, id: string) {
    const action = await engine.get(engine.db, tenantId, id);
    if (action?.channel !== GENERIC) throw notReportedHere();
    return action.state;
  }

  return [
    defineRoute(api.actions.claim, {
      access: workers,
      async handler({ body, caller, params: { lane }, request, reply }) {
        checkLane(caller, lane);
        const to = {
          request,
          reply,
          caller,
          lane: isRestricted(caller) ? lane : null,
          worker: body.worker,
          names: false,
          leaseMs: leaseMs(body.leaseSeconds),
        };
        const began = performance.now();
        const actions = await lanes.with(caller.tenantId, lane, (laneId) => {
          const waited = (performance.now() - began) / 1_000;
          return handingOut.claim({ ...to, laneId, waitSeconds: Math.max(0, (body.wait ?? 0) - waited) });
        });
        return { actions };
      },
    }),

    defineRoute(api.actions.report, {
      access: workers,
      async handler(call) {
        const { body, caller, params, request, reply } = call;
        const { tenantId } = caller;
        checkReportSize(body);
        const lane = await checkAction(caller, params.id, engine, handed);
        const said = body.next?.worker ?? body.worker;
        const next = body.next
          ? {
              channel: GENERIC,
              worker: said ?? (await holderOf(call)),
              leaseMs: leaseMs(body.next.leaseSeconds),
            }
          : undefined;
        const answer = await engine.report(engine.db, {
          tenantId,
          actionId: params.id,
          attempt: body.attempt,
          status: body.status,
          worker: body.worker,
          error: body.error,
          result: body.result,
          retryAfterMs:
            body.retryAfterSeconds === undefined ? undefined : Math.round(body.retryAfterSeconds * 1_000),
          channel: GENERIC,
          next,
        });
        if (answer.laneId === null) throw notReportedHere();
        if (answer.accepted) handed.forget(tenantId, params.id);
        const { accepted, state: status } = answer;
        const reason = answer.reason ?? undefined;
        if (!next) return { accepted, status, reason };
        const to = { request, reply, caller, lane, worker: next.worker, names: said !== undefined };
        if (answer.next || !body.next?.wait)
          return { accepted, status, reason, actions: await handingOut.give(to, answer.next) };
        const actions = await handingOut.claim({
          ...to,
          laneId: answer.laneId,
          leaseMs: next.leaseMs,
          waitSeconds: body.next.wait,
          except: accepted ? undefined : params.id,
          mustAnswer: true,
        });
        return { accepted, status, reason, actions };
      },
    }),

    defineRoute(api.actions.extend, {
      access: workers,
      async handler({ body, caller, params }) {
        await checkAction(caller, params.id, engine, handed);
        const answer = await engine.extend(engine.db, {
          tenantId: caller.tenantId,
          actionId: params.id,
          attempt: body.attempt,
          leaseMs: leaseMs(body.leaseSeconds),
          channel: GENERIC,
        });
        if (!answer.extended)
          return { accepted: false, status: await stateOf(caller.tenantId, params.id), reason: 'LATE' };
        return {
          accepted: true,
          status: 'claimed',
          leaseUntil: answer.leaseUntil,
          cancelRequested: answer.cancelRequested || undefined,
        };
      },
    }),

    defineRoute(api.actions.release, {
      access: workers,
      async handler({ body, caller, params }) {
        await checkAction(caller, params.id, engine, handed);
        const answer = await engine.release(engine.db, {
          tenantId: caller.tenantId,
          actionId: params.id,
          attempt: body.attempt,
          channel: GENERIC,
          ...(body.reason === undefined ? {} : { reason: body.reason }),
        });
        if (answer.laneId === null) throw notReportedHere();
        if (answer.accepted) handed.forget(caller.tenantId, params.id);
        return { accepted: answer.accepted, status: answer.state, reason: answer.reason ?? undefined };
      },
    }),
  ];
}
