import type { ChannelContacts } from '../../contacts/contacts.ts';
import { only, operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created, gone } from '../../http/replies.ts';
import { host, hosts as hostPage, hostWithToken } from './answers.ts';
import type { Hosts } from './hosts.ts';
import { PAGE, pageOf } from './page.ts';
import type { Host } from './queries.ts';
import { enrolment, hostChange, hostParams, newHost, pageQuery } from './schemas.ts';
import { wireHost } from './wire.ts';

/** Hosts, and the tokens of their agents. */
export function hostRoutes({ contacts, hosts }: { contacts: ChannelContacts; hosts: Hosts }): Route[] {
  const wire = (one: Host) => {
    const seenAt = contacts.latest(one.tenantId, one.id, one.seenAt);
    return wireHost({ ...one, seenAt }, contacts.isOnline(seenAt));
  };
  return [
    defineRoute({
      method: 'POST',
      path: '/api/hosts',
      access: operators('operator'),
      summary: 'Add a host; the token of its agent is shown this once',
      body: newHost,
      responses: { 201: { description: 'Added.', schema: hostWithToken } },
      async handler({ body, caller, reply }) {
        const added = await hosts.create(caller, { name: body.name, slots: body.slots ?? null });
        created(reply);
        return added;
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/hosts/enrol',
      access: only('host-enrolment'),
      summary:
        'A host registers itself; with the secret of the first time it gets a new token for the same host',
      body: enrolment,
      responses: {
        201: {
          description:
            'Registered, or registered before: then its old token is valid until this one is used.',
          schema: hostWithToken,
        },
      },
      async handler({ body, caller, reply }) {
        const enrolled = await hosts.enrol(caller, body);
        created(reply);
        return enrolled;
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts',
      access: operators('viewer'),
      summary: 'List hosts in the order of their creation',
      query: pageQuery,
      responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: hostPage } },
      async handler({ caller, query: { cursor = '0', limit = PAGE } }) {
        const page = pageOf(await hosts.list(caller, cursor, limit + 1), limit);
        return { hosts: page.items.map(wire), cursor: page.cursor };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/hosts/:hostId',
      access: operators('viewer'),
      summary: 'One host',
      params: hostParams,
      responses: { 200: { description: 'The host.', schema: host } },
      handler: async ({ caller, params }) => wire(await hosts.get(caller, params.hostId)),
    }),

    defineRoute({
      method: 'PATCH',
      path: '/api/hosts/:hostId',
      access: operators('operator'),
      summary: 'Rename a host or change its slots',
      params: hostParams,
      body: hostChange,
      responses: { 200: { description: 'The host as it is now.', schema: host } },
      async handler({ body, caller, params }) {
        await hosts.update(caller, params.hostId, body);
        return wire(await hosts.get(caller, params.hostId));
      },
    }),

    defineRoute({
      method: 'DELETE',
      path: '/api/hosts/:hostId',
      access: operators('operator'),
      summary: 'Delete a host with its services; what is unfinished there is cancelled',
      params: hostParams,
      responses: { 204: { description: 'Deleted.' } },
      async handler({ caller, params, reply }) {
        await hosts.remove(caller, params.hostId);
        return gone(reply);
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/hosts/:hostId/token',
      access: operators('operator'),
      summary: 'A new token for the agent; the old one is valid until this one is used',
      params: hostParams,
      responses: { 201: { description: 'Shown this once.', schema: hostWithToken } },
      async handler({ caller, params, reply }) {
        const rotated = await hosts.rotate(caller, params.hostId);
        created(reply);
        return rotated;
      },
    }),

    defineRoute({
      method: 'DELETE',
      path: '/api/hosts/:hostId/token',
      access: operators('operator'),
      summary: 'Revoke every token of the agent at once',
      params: hostParams,
      responses: { 204: { description: 'Revoked.' } },
      async handler({ caller, params, reply }) {
        await hosts.revoke(caller, params.hostId);
        return gone(reply);
      },
    }),
  ];
}
