import { api } from '@muster/contracts';
import { type Engine, EngineError } from '@muster/engine';
import { readBack } from '../../after-commit.ts';
import { type Audit, by } from '../../audit/audit.ts';
import { change } from '../../changes.ts';
import type { Fleet } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { refusePast } from '../../http/past-times.ts';
import { created } from '../../http/replies.ts';
import { wireQueued, wireStatus } from './wire.ts';

/** What waits for a device. Cancel, redrive and move-to-front are the same for the actions of every door. */
export function queueRoutes(tools: { audit: Audit; engine: Engine; fleet: Fleet }): Route[] {
  const { audit, engine, fleet } = tools;
  const { db } = engine;

  /** What was created, not what became of it meanwhile: a device that waits is faster than this answer. */
  async function answer(tenantId: number, id: string, isNew: boolean) {
    const [view, positions] = [
      await engine.get(db, tenantId, id),
      await engine.positions(db, tenantId, [id]),
    ];
    const waits = view?.state === 'pending' && view.attempt === 0;
    if (isNew && !waits) return { id, status: 'pending', position: 1, waitingFor: null };
    return {
      id,
      status: wireStatus(view?.state ?? 'pending'),
      position: positions.get(id) ?? null,
      waitingFor: view?.waitingFor ?? null,
    };
  }

  return [
    defineRoute(api.checkin.assign, {
      access: operators('operator'),
      async handler({ body, caller, params, request, reply }) {
        const { tenantId } = caller;
        const laneId = await fleet.laneOf(db, tenantId, params.id);
        const idempotencyKey = readIdempotencyKey(request);
        await refusePast(
          engine.now(),
          { deliverBy: body.deliverBy, deadline: body.deadline },
          async () => idempotencyKey !== undefined && engine.isKeyKnown(db, tenantId, idempotencyKey),
        );
        const { id, outcome } = await change(db, async (tx) => {
          const source = { tenantId, source: 'assign' as const, by: caller.name, idempotencyKey };
          const [done] = await fleet.assigning.assign(tx, source, [{ deviceId: params.id, laneId }], body);
          if (!done || done instanceof EngineError) throw done;
          if (done.outcome === 'created')
            await audit.write(tx, {
              ...by(caller),
              act: 'action.assign',
              target: `action ${done.id}`,
              detail: { deviceId: params.id, kind: body.kind },
            });
          return done;
        });
        if (outcome === 'created') created(reply);
        return readBack(`action ${id}`, () => answer(tenantId, id, outcome === 'created'));
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
        const running = actions[0]?.state === 'claimed' ? 0 : 1;
        return {
          actions: actions.map((action, n) => wireQueued(action, n + running, known.get(action.id))),
        };
      },
    }),
  ];
}
