import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import type { Copying } from '../../copying/copying.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { withHidden } from '../../http/hidden-fields.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { refusePast } from '../../http/past-times.ts';
import { readBack } from '../../http/read-back.ts';
import { created } from '../../http/replies.ts';
import type { Redriving } from '../../redriving/redriving.ts';
import { actionError } from './errors.ts';
import { unknownAction } from './restriction.ts';
import type { Show } from './show.ts';

/** Edit and run again, for the actions of every door. An action that nothing could execute is not copied. */
export function copyRoute(tools: {
  audit: Audit;
  copying: Copying;
  engine: Engine;
  redriving: Redriving;
  show: Show;
}): Route {
  const { audit, copying, engine, redriving, show } = tools;
  return defineRoute(api.actions.copy, {
    access: operators('operator'),
    async handler({ body: changes, caller, params, request, reply }) {
      const { tenantId } = caller;
      const idempotencyKey = readIdempotencyKey(request);
      await refusePast(
        engine.now(),
        { deliverBy: changes.deliverBy, deadline: changes.deadline },
        async () => (await engine.idOfKey(engine.db, tenantId, idempotencyKey)) !== null,
      );
      const { id, outcome } = await audit.change(
        caller,
        async (tx) => {
          const old = await engine.get(tx, tenantId, params.id);
          if (!old) throw unknownAction();
          if (old.endedAt === null)
            throw actionError(
              'MUSTER_NOT_FINISHED',
              `Only finished actions can be copied; this one is ${old.state}.`,
            );
          const refused = (await redriving.check(tx, tenantId, [old], { caller, copy: true })).get(old.id);
          // a repeated request gets the answer of the first one, whatever the state of its target is now
          if (refused && (await engine.idOfKey(tx, tenantId, idempotencyKey)) === null) throw refused;
          const edited =
            changes.payload === undefined ? {} : { payload: withHidden(changes.payload, old.payload) };
          const made = await copying.copy(tx, old, {
            caller,
            changes: { ...changes, ...edited },
            idempotencyKey,
          });
          if (refused && made.outcome === 'created') throw refused;
          return made;
        },
        (made) =>
          made.outcome === 'created'
            ? {
                act: 'action.copy',
                target: `action ${made.id}`,
                detail: { copiedFrom: params.id, changed: Object.keys(changes) },
              }
            : null,
      );
      if (outcome === 'created') created(reply);
      return readBack(`action ${id}`, async () => {
        const action = await engine.get(engine.db, tenantId, id);
        if (!action) throw unknownAction();
        return (await show(tenantId, [action]))[0];
      });
    },
  });
}
