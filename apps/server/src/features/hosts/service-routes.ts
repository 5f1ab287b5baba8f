import { api } from '@muster/contracts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created, gone } from '../../http/replies.ts';
import type { Services } from './services.ts';
import { wireService } from './wire.ts';

export function serviceRoutes({ services }: { services: Services }): Route[] {
  return [
    defineRoute(api.services.create, {
      access: operators('operator'),
      async handler({ body, caller, params, reply }) {
        const added = await services.create(caller, params.hostId, body);
        created(reply);
        return wireService(added);
      },
    }),

    defineRoute(api.services.list, {
      access: operators('viewer'),
      handler: async ({ caller, params }) => ({
        services: (await services.list(caller, params.hostId)).map(wireService),
      }),
    }),

    defineRoute(api.services.get, {
      access: operators('viewer'),
      handler: async ({ caller, params }) =>
        wireService(await services.get(caller, params.hostId, params.serviceId)),
    }),

    defineRoute(api.services.update, {
      access: operators('operator'),
      handler: async ({ body, caller, params }) =>
        wireService(await services.update(caller, params.hostId, params.serviceId, body)),
    }),

    defineRoute(api.services.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await services.remove(caller, params.hostId, params.serviceId);
        return gone(reply);
      },
    }),
  ];
}
