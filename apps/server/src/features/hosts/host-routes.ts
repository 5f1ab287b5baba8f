import { api } from '@muster/contracts';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { only, operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { created, gone } from '../../http/replies.ts';
import type { Hosts } from './hosts.ts';
import type { Host } from './queries.ts';
import { wireHost } from './wire.ts';

/** Hosts, and the tokens of their agents. */
export function hostRoutes({ contacts, hosts }: { contacts: ChannelContacts; hosts: Hosts }): Route[] {
  const wire = (one: Host) => {
    const seenAt = contacts.latest(one.tenantId, one.id, one.seenAt);
    return wireHost({ ...one, seenAt }, contacts.isOnline(seenAt));
  };
  return [
    defineRoute(api.hosts.create, {
      access: operators('operator'),
      async handler({ body, caller, reply }) {
        const added = await hosts.create(caller, { name: body.name, slots: body.slots ?? null });
        created(reply);
        return added;
      },
    }),

    defineRoute(api.hosts.enrol, {
      access: only('host-enrolment'),
      async handler({ body, caller, reply }) {
        const enrolled = await hosts.enrol(caller, body);
        created(reply);
        return enrolled;
      },
    }),

    defineRoute(api.hosts.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { online, text } = query;
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => hosts.list(caller, { after: query.cursor ?? '0', limit, online, text }),
          (row) => row.id,
        );
        return { hosts: items.map(wire), cursor };
      },
    }),

    defineRoute(api.hosts.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const host = await hosts.get(caller, params.hostId);
        return { ...wire(host), instances: await hosts.instances(host) };
      },
    }),

    defineRoute(api.hosts.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        await hosts.update(caller, params.hostId, body);
        return wire(await hosts.get(caller, params.hostId));
      },
    }),

    defineRoute(api.hosts.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await hosts.remove(caller, params.hostId);
        return gone(reply);
      },
    }),

    defineRoute(api.hosts.rotateToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const rotated = await hosts.rotate(caller, params.hostId);
        created(reply);
        return rotated;
      },
    }),

    defineRoute(api.hosts.revokeToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await hosts.revoke(caller, params.hostId);
        return gone(reply);
      },
    }),
  ];
}
