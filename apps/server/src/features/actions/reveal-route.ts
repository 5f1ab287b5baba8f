import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { unknownAction } from './restriction.ts';

/** What is hidden everywhere else. The line in the audit log is there before anything is shown. */
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
