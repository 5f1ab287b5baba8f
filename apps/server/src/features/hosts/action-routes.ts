import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { created } from '../../http/replies.ts';
import { action, actions as actionPage, actionWithEvents } from './answers.ts';
import { unknownService } from './errors.ts';
import type { HostActions } from './host-actions.ts';
import type { Hosts } from './hosts.ts';
import { PAGE } from './page.ts';
import { actionParams, actionQuery, cancelBody, hostParams, newAction } from './schemas.ts';
import { wireAction, wireEvent } from './wire.ts';

export function actionRoutes({ hosts, hostActions }: { hosts: Hosts; hostActions: HostActions }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/hosts/:hostId/actions',
      access: operators('operator'),
      summary: 'Start, stop or restart a service, now or as soon as the host is there',
      params: hostParams,
      body: newAction,
      headers: { 'Idempotency-Key': 'The same key and body again answer 200 with the action that is there.' },
      responses: {
        200: { description: 'It was there already, by its Idempotency-Key.', schema: action },
        201: { description: 'Queued.', schema: action },
      },
      async handler({ body, caller, params, request, reply }) {
        const key = readIdempotencyKey(request);
        const { action: queued, isNew } = await hostActions.enqueue(caller, params.hostId, body, key);
        if (!queued) throw unknownService();
        if (isNew) created(reply);
        return wireAction(queued);
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts/:hostId/actions',
      access: operators('viewer'),
      summary: 'The actions of a host, newest first',
      params: hostParams,
      query: actionQuery,
      responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: actionPage } },
      async handler({ caller, params: { hostId }, query: { limit = PAGE, ...filter } }) {
        await hosts.get(caller, hostId);
        const page = await hostActions.list(caller, hostId, { ...filter, limit });
        return { actions: page.actions.map(wireAction), cursor: page.cursor };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts/:hostId/actions/:actionId',
      access: operators('viewer'),
      summary: 'One action of a host with its history',
      params: actionParams,
      responses: { 200: { description: 'The action.', schema: actionWithEvents } },
      async handler({ caller, params }) {
        const found = await hostActions.get(caller, params.hostId, params.actionId);
        const events = await hostActions.events(caller, params.actionId);
        return { ...wireAction(found), events: events.map(wireEvent) };
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/hosts/:hostId/actions/:actionId/cancel',
      access: operators('operator'),
      summary: 'Cancel an action; a running one is told to its agent',
      params: actionParams,
      body: cancelBody,
      responses: { 200: { description: 'The action as it is now.', schema: action } },
      handler: async ({ body, caller, params }) =>
        wireAction(await hostActions.cancel(caller, params.hostId, params.actionId, body.reason)),
    }),
  ];
}
