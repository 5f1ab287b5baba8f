import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created, gone } from '../../http/replies.ts';
import { service, services as serviceList } from './answers.ts';
import { hostParams, newService, serviceChange, serviceParams } from './schemas.ts';
import type { Services } from './services.ts';
import { wireService } from './wire.ts';

export function serviceRoutes({ services }: { services: Services }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/hosts/:hostId/services',
      access: operators('operator'),
      summary: 'Add a service to a host',
      params: hostParams,
      body: newService,
      responses: { 201: { description: 'Added.', schema: service } },
      async handler({ body, caller, params, reply }) {
        const added = await services.create(caller, params.hostId, body);
        created(reply);
        return wireService(added);
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts/:hostId/services',
      access: operators('viewer'),
      summary: 'The services of a host',
      params: hostParams,
      responses: { 200: { description: 'All of them.', schema: serviceList } },
      handler: async ({ caller, params }) => ({
        services: (await services.list(caller, params.hostId)).map(wireService),
      }),
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts/:hostId/services/:serviceId',
      access: operators('viewer'),
      summary: 'One service',
      params: serviceParams,
      responses: { 200: { description: 'The service.', schema: service } },
      handler: async ({ caller, params }) =>
        wireService(await services.get(caller, params.hostId, params.serviceId)),
    }),

    defineRoute({
      method: 'PATCH',
      path: '/api/hosts/:hostId/services/:serviceId',
      access: operators('operator'),
      summary: 'Change what a service is called; another unit is another service',
      params: serviceParams,
      body: serviceChange,
      responses: { 200: { description: 'The service as it is now.', schema: service } },
      handler: async ({ body, caller, params }) =>
        wireService(await services.update(caller, params.hostId, params.serviceId, body)),
    }),

    defineRoute({
      method: 'DELETE',
      path: '/api/hosts/:hostId/services/:serviceId',
      access: operators('operator'),
      summary: 'Delete a service; what is unfinished for it is cancelled',
      params: serviceParams,
      responses: { 204: { description: 'Deleted.' } },
      async handler({ caller, params, reply }) {
        await services.remove(caller, params.hostId, params.serviceId);
        return gone(reply);
      },
    }),
  ];
}
