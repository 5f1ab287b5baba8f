import { api } from '@muster/contracts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { limitOf } from '../../http/page.ts';
import { created } from '../../http/replies.ts';
import { unknownService } from './errors.ts';
import type { HostActions } from './host-actions.ts';
import type { Hosts } from './hosts.ts';
import { wireAction, wireEvent } from './wire.ts';

export function actionRoutes({ hosts, hostActions }: { hosts: Hosts; hostActions: HostActions }): Route[] {
  return [
    defineRoute(api.hostActions.enqueue, {
      access: operators('operator'),
      async handler({ body, caller, params, request, reply }) {
        const key = readIdempotencyKey(request);
        const { action: queued, isNew } = await hostActions.enqueue(caller, params.hostId, body, key);
        if (!queued) throw unknownService();
        if (isNew) created(reply);
        return wireAction(queued);
      },
    }),

    defineRoute(api.hostActions.list, {
      access: operators('viewer'),
      async handler({ caller, params: { hostId }, query: { limit, ...filter } }) {
        await hosts.get(caller, hostId);
        const page = await hostActions.list(caller, hostId, { ...filter, limit: limitOf(limit) });
        return { actions: page.actions.map(wireAction), cursor: page.cursor };
      },
    }),

    defineRoute(api.hostActions.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const found = await hostActions.get(caller, params.hostId, params.actionId);
        const events = await hostActions.events(caller, params.actionId);
        return { ...wireAction(found), events: events.map(wireEvent) };
      },
    }),

    defineRoute(api.hostActions.cancel, {
      access: operators('operator'),
      handler: async ({ body, caller, params }) =>
        wireAction(await hostActions.cancel(caller, params.hostId, params.actionId, body.reason)),
    }),
  ];
}
