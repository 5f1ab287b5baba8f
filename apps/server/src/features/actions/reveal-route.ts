import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { unknownAction } from './restriction.ts';

/** Shows what is hidden everywhere else. The audit line is committed before anything is shown. */
export function revealRoute({ audit, engine }: { audit: Audit; engine: Engine }): Route {
  return defineRoute(api.actions.reveal, {
    access: operators('operator'),
    handler: ({ body, caller, params: { id } }) =>
      audit.change(
        caller,
        async (tx) => {
          const action = await engine.get(tx, caller.tenantId, id);
          if (!action) throw unknownAction();
          return { id, payload: action.payload, result: action.result ?? undefined };
        },
        { act: 'action.reveal', target: `action ${id}`, detail: { reason: body.reason } },
      ),
  });
}
