import type { ChannelContacts } from '../../contacts/contacts.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created, gone } from '../../http/replies.ts';
import { pc, pcPage, pcWithToken, presentDevices } from './answers.ts';
import type { Pcs } from './pcs.ts';
import { runnerOf } from './runner-access.ts';
import { idParams, newPc, pageQuery, pcChange, presence } from './schemas.ts';

/** PCs, and the tokens of their runners. */
const DEFAULT_PAGE = 100;
/** A list of a hundred thousand devices. */
const LARGEST_BODY = 4 * 1_048_576;

export function pcRoutes({ contacts, pcs }: { contacts: ChannelContacts; pcs: Pcs }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/pcs',
      access: operators('operator'),
      summary: 'Add a PC; the token of its runner is shown this once',
      body: newPc,
      responses: { 201: { description: 'Added.', schema: pcWithToken } },
      async handler({ body, caller, reply }) {
        const added = await pcs.create(caller, body);
        created(reply);
        return added;
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/pcs',
      access: operators('viewer'),
      summary: 'List PCs in the order of their creation',
      query: pageQuery,
      responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: pcPage } },
      async handler({ caller, query: { cursor = '0', limit = DEFAULT_PAGE } }) {
        const found = await pcs.list(caller, cursor, limit + 1);
        const page = found.slice(0, limit);
        return {
          pcs: page.map(pcs.show),
          cursor: found.length > limit ? (page.at(-1)?.pcId ?? null) : null,
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/pcs/:id',
      access: operators('viewer', 'runner'),
      summary: 'One PC: what runs there, what could, and when its runner was last heard of',
      params: idParams,
      responses: { 200: { description: 'As it is now.', schema: pc } },
      async handler({ caller, params }) {
        if (caller.kind === 'runner') runnerOf(caller, params.id);
        return pcs.show(await pcs.get(caller, params.id));
      },
    }),

    defineRoute({
      method: 'PATCH',
      path: '/api/pcs/:id',
      access: operators('operator'),
      summary: 'Rename a PC or change its slots',
      params: idParams,
      body: pcChange,
      responses: { 200: { description: 'As it is now.', schema: pc } },
      async handler({ body, caller, params }) {
        await pcs.update(caller, params.id, body);
        return pcs.show(await pcs.get(caller, params.id));
      },
    }),

    defineRoute({
      method: 'DELETE',
      path: '/api/pcs/:id',
      access: operators('operator'),
      summary: 'Delete a PC; its devices belong to none from then on',
      params: idParams,
      responses: { 204: { description: 'Deleted.' } },
      async handler({ caller, params, reply }) {
        await pcs.remove(caller, params.id);
        return gone(reply);
      },
    }),

    defineRoute({
      method: 'PUT',
      path: '/api/pcs/:id/devices',
      access: operators('operator', 'runner'),
      summary: 'Say which devices of a PC are there; tasks pass over those that are not',
      params: idParams,
      bodyLimit: LARGEST_BODY,
      body: presence,
      responses: {
        200: { description: 'How each device of the PC stands now.', schema: presentDevices },
      },
      async handler({ body, caller, params }) {
        if (caller.kind === 'runner') {
          runnerOf(caller, params.id);
          contacts.heardOf(caller.tenantId, params.id);
        }
        return pcs.present(caller, params.id, body);
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/pcs/:id/token',
      access: operators('operator'),
      summary: 'A new token for the runner; the old one is valid until this one is used',
      params: idParams,
      responses: { 201: { description: 'The new token, shown this once.', schema: pcWithToken } },
      async handler({ caller, params, reply }) {
        const rotated = await pcs.rotate(caller, params.id);
        created(reply);
        return rotated;
      },
    }),

    defineRoute({
      method: 'DELETE',
      path: '/api/pcs/:id/token',
      access: operators('operator'),
      summary: 'Revoke every token of the runner at once',
      params: idParams,
      responses: { 204: { description: 'Revoked.' } },
      async handler({ caller, params, reply }) {
        await pcs.revoke(caller, params.id);
        return gone(reply);
      },
    }),
  ];
}
