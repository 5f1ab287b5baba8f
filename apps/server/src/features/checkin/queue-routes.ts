import { api } from '@muster/contracts';
import { type Engine, EngineError, type Enqueued, type Queryable } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { type Fleet, unknownDevice } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { refusePast } from '../../http/past-times.ts';
import { created } from '../../http/replies.ts';
import type { Naming } from '../../naming/naming.ts';
import { wireQueued, wireStatus } from './wire.ts';

/** The queue of a device. Cancel, redrive and move-to-front are the same for the actions of every door. */
export function queueRoutes(tools: { audit: Audit; engine: Engine; fleet: Fleet; naming: Naming }): Route[] {
  const { audit, engine, fleet, naming } = tools;
  const { db } = engine;

  /**
   * Read in the transaction of the assignment, so it shows what was created: a waiting device gets the action only
   * after the commit.
   */
  async function answer(tx: Queryable, tenantId: number, { id }: Enqueued) {
    const view = await engine.get(tx, tenantId, id);
    return {
      id,
      status: wireStatus(view?.state ?? 'pending'),
      position: (await engine.positions(tx, tenantId, [id])).get(id) ?? null,
      waitingFor: view?.waitingFor ?? null,
    };
  }

  /** A repeated request gets the answer of the first one, even if the device has been deleted since. */
  async function laneOf(tenantId: number, deviceId: string, key: string | undefined): Promise<string> {
    const isRepeat = (await engine.idOfKey(db, tenantId, key)) !== null;
    return isRepeat ? fleet.laneOfAny(db, tenantId, deviceId) : fleet.laneOf(db, tenantId, deviceId);
  }

  return [
    defineRoute(api.checkin.assign, {
      access: operators('operator'),
      async handler({ body, caller, params, request, reply }) {
        const { tenantId } = caller;
        const idempotencyKey = readIdempotencyKey(request);
        const laneId = await laneOf(tenantId, params.id, idempotencyKey);
        await refusePast(
          engine.now(),
          { deliverBy: body.deliverBy, deadline: body.deadline },
          async () => (await engine.idOfKey(db, tenantId, idempotencyKey)) !== null,
        );
        const { isNew, told } = await audit.change(
          caller,
          async (tx) => {
            const source = { tenantId, source: 'assign' as const, by: caller.name, idempotencyKey };
            const [done] = await fleet.assigning.assign(tx, source, [{ deviceId: params.id, laneId }], body);
            if (done === 'DEVICE_DELETED') throw unknownDevice();
            if (done === 'EXPIRY_OUT_OF_RANGE')
              throw httpError(
                'MUSTER_BAD_BODY',
                'moreDays would move the expiry outside the years 2 to 8999.',
              );
            if (!done || done instanceof EngineError) throw done;
            return { isNew: done.outcome === 'created', told: await answer(tx, tenantId, done) };
          },
          ({ isNew, told }) =>
            isNew
              ? {
                  act: 'action.assign',
                  target: `action ${told.id}`,
                  detail: { deviceId: params.id, kind: body.kind },
                }
              : null,
        );
        if (isNew) created(reply);
        return told;
      },
    }),

    defineRoute(api.checkin.queue, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const { tenantId } = caller;
        const laneId = await fleet.laneOf(db, tenantId, params.id);
        const actions = await engine.queue(db, { tenantId, laneId });
        const known = await fleet.assignmentsOf(
          db,
          tenantId,
          actions.map((action) => action.id),
        );
        const origins = await fleet.originsOf(
          db,
          tenantId,
          actions.map((action) => action.id),
        );
        const running = actions[0]?.state === 'claimed' ? 0 : 1;
        return {
          actions: actions.map((action, n) => ({
            ...wireQueued(action, n + running, known.get(action.id)),
            ...origins.get(action.id),
            name: naming.nameOf(action),
          })),
        };
      },
    }),
  ];
}
