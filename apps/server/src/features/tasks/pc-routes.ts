import { api } from '@muster/contracts';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { created, gone } from '../../http/replies.ts';
import type { Pcs } from './pcs.ts';
import { runnerOf } from './runner-access.ts';

/** PCs, and the tokens of their runners. */
/** Enough for a list of a hundred thousand devices. */
const LARGEST_BODY = 4 * 1_048_576;

export function pcRoutes({ contacts, pcs }: { contacts: ChannelContacts; pcs: Pcs }): Route[] {
  return [
    defineRoute(api.pcs.create, {
      access: operators('operator'),
      async handler({ body, caller, reply }) {
        const added = await pcs.create(caller, body);
        created(reply);
        return added;
      },
    }),

    defineRoute(api.pcs.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { online, text } = query;
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => pcs.list(caller, { after: query.cursor ?? '0', limit, online, text }),
          (row) => row.pcId,
        );
        return { pcs: await pcs.show(items), cursor };
      },
    }),

    defineRoute(api.pcs.running, {
      access: operators('viewer'),
      handler: ({ caller }) => pcs.running(caller),
    }),

    defineRoute(api.pcs.get, {
      access: operators('viewer', 'runner'),
      async handler({ caller, params, request }) {
        if (caller.kind === 'runner') runnerOf(caller, request, params.id);
        const pc = await pcs.get(caller, params.id);
        const [shown] = await pcs.show([pc]);
        return { ...shown, instances: await pcs.instances(pc) };
      },
    }),

    defineRoute(api.pcs.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        await pcs.update(caller, params.id, body);
        const [shown] = await pcs.show([await pcs.get(caller, params.id)]);
        return shown;
      },
    }),

    defineRoute(api.pcs.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await pcs.remove(caller, params.id);
        return gone(reply);
      },
    }),

    defineRoute(api.pcs.setDevices, {
      access: operators('operator', 'runner'),
      bodyLimit: LARGEST_BODY,
      async handler({ body, caller, params, request }) {
        if (caller.kind === 'runner') {
          const { instance } = runnerOf(caller, request, params.id);
          contacts.heardOf(caller.tenantId, params.id, instance);
        }
        return pcs.present(caller, params.id, body);
      },
    }),

    defineRoute(api.pcs.rotateToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const rotated = await pcs.rotate(caller, params.id);
        created(reply);
        return rotated;
      },
    }),

    defineRoute(api.pcs.revokeToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await pcs.revoke(caller, params.id);
        return gone(reply);
      },
    }),
  ];
}
