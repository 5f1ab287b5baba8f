import { api } from '@muster/contracts';
import type { Engine, NewAction } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { noteCommitted } from '../../audit/note-committed.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import type { Log } from '../../http/logging.ts';
import { refusePast } from '../../http/past-times.ts';
import { readBack } from '../../http/read-back.ts';
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
        async () => (await engine.idOfKey(engine.db, tenantId, idempotencyKey)) !== null,
      );
      const action = (laneId: string): NewAction => ({
        tenantId,
        laneId,
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
      });
      const { id, created: made } = await lanes.with(tenantId, lane, (laneId) =>
        engine.enqueue(engine.db, action(laneId), { created: true }),
      );
      if (!made) {
        const view = await readBack(`action ${id}`, () => views.get(tenantId, id));
        if (!view) throw unknownAction();
        return wireAction(view, view);
      }
      // Enqueues are gathered, so the audit line cannot share their transaction; the action names its creator as well.
      if (caller.kind === 'operator')
        await noteCommitted(audit, log, caller, {
          act: 'action.enqueue',
          target: `action ${id}`,
          detail: { lane, kind: body.kind },
        });
      created(reply);
      return wireAction(made, { space: GENERIC, laneName: lane });
    },
  });
}

function date(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
