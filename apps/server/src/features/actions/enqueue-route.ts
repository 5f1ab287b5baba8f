import { api } from '@muster/contracts';
import type { ActionView, Engine } from '@muster/engine';
import { noteCommitted, readBack } from '../../after-commit.ts';
import { type Audit, by } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import type { Log } from '../../http/logging.ts';
import { refusePast } from '../../http/past-times.ts';
import { created } from '../../http/replies.ts';
import { GENERIC, type Lanes } from './lanes.ts';
import { checkLane, unknownAction } from './restriction.ts';
import type { Views } from './views.ts';
import { wireAction } from './wire.ts';

export function enqueueRoute(tools: {
  audit: Audit;
  engine: Engine;
  lanes: Lanes;
  log: Log;
  views: Views;
}): Route {
  const { audit, engine, lanes, log, views } = tools;
  return defineRoute(api.actions.enqueue, {
    access: operators('operator', 'worker'),
    async handler({ body, caller, params: { lane }, request, reply }) {
      checkLane(caller, lane);
      const idempotencyKey = readIdempotencyKey(request);
      const { tenantId } = caller;
      await refusePast(
        engine.now(),
        { deliverBy: body.deliverBy, deadline: body.deadline },
        async () => idempotencyKey !== undefined && engine.isKeyKnown(engine.db, tenantId, idempotencyKey),
      );
      const action = {
        tenantId,
        channel: GENERIC,
        kind: body.kind,
        payload: body.payload,
        priority: body.priority,
        tags: body.tags,
        notBefore: date(body.notBefore),
        deliverBy: date(body.deliverBy),
        deadline: date(body.deadline),
        maxAttempts: body.maxAttempts,
        headOfLine: body.headOfLine,
        supersede: body.supersede && { key: body.supersede.key, mode: body.supersede.mode ?? 'replace' },
        idempotencyKey,
        createdBy: caller.name,
      };
      const { id, outcome } = await lanes.with(tenantId, lane, (laneId) =>
        engine.enqueue(engine.db, { ...action, laneId }),
      );
      const isNew = outcome === 'created';
      // Enqueues are gathered and have no transaction to share; the action names its creator as well.
      if (isNew && caller.kind === 'operator')
        await noteCommitted(audit, log, {
          ...by(caller),
          act: 'action.enqueue',
          target: `action ${id}`,
          detail: { lane, kind: body.kind },
        });
      const view = await readBack(`action ${id}`, () => views.get(tenantId, id));
      if (!view) throw unknownAction();
      if (!isNew) return wireAction(view);
      created(reply);
      return wireAction(asCreated(view));
    },
  });
}

/** A waiting worker may have been faster than this answer, which says what was created, not what became of it. */
function asCreated(view: ActionView): ActionView {
  if (view.state === 'pending' && view.attempt === 0) return view;
  return {
    ...view,
    state: 'pending',
    attempt: 0,
    failures: 0,
    worker: null,
    leasedAt: null,
    startedAt: null,
    leaseUntil: null,
    cancelRequested: false,
    waitingFor: { code: 'NEXT_CONTACT', text: 'The next contact of its worker.' },
    endedAt: null,
    reason: null,
    error: null,
    result: null,
  };
}

function date(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
