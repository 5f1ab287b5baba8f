import { api } from '@muster/contracts';
import { actionIdOf, CALLBACKS, MESSAGE } from '../../callbacks/message.ts';
import type { Shell } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { limitOf } from '../../http/page.ts';
import type { Caller } from '../../tokens/caller.ts';
import { callbackError } from './errors.ts';
import { publishers } from './publish-routes.ts';
import { createCallbackQueries } from './queries.ts';
import { eventOf, messageOf } from './wire.ts';

export const readers = operators('viewer', 'publisher');

/** The client sends it whenever it means all, and promises that one call cancels them. */
const COUNT_OF_CLIENT = 100;

/** Publishers see only published messages; operators also see the server's calls to itself. */
export const kindFor = ({ kind }: Caller) => (kind === 'publisher' ? MESSAGE : undefined);

/** One or several, as queries have them; ids that cannot be ours are left out. */
export function idsOf(given: string | readonly string[] | undefined): string[] | undefined {
  return given === undefined ? undefined : [given].flat().flatMap((id) => actionIdOf(id) ?? []);
}

/** From the query or, as older clients (2.8) send them, from the body; undefined: no ids are named. */
export function namedIds(
  inQuery: string | readonly string[] | undefined,
  inBody: readonly string[] | undefined,
): string[] | undefined {
  if (inQuery !== undefined && inBody !== undefined)
    throw httpError('MUSTER_BAD_BODY', 'Name the ids in the query or in the body, not in both.');
  return idsOf(inBody ?? inQuery);
}

/** The server's calls to itself are meant only if they are named: "all" means published messages. */
export const kindMeant = (caller: Caller, isNamed: boolean) => (isNamed ? kindFor(caller) : MESSAGE);

export function messageRoutes({ audit, db, engine }: Shell): Route[] {
  const queries = createCallbackQueries(engine);

  /** Only undelivered messages: QStash forgets a message with its delivery, and clients rely on that. */
  async function unfinished(caller: Caller, id: string) {
    const actionId = actionIdOf(id);
    const view = actionId === null ? null : await engine.get(db, caller.tenantId, actionId);
    const isKnown = view?.channel === CALLBACKS && view.kind === (kindFor(caller) ?? view.kind);
    if (!isKnown || (view.state !== 'pending' && view.state !== 'claimed'))
      throw callbackError('MUSTER_UNKNOWN_MESSAGE', 'There is no such message, or it is no longer waiting.');
    return view;
  }

  return [
    defineRoute(api.callbacks.get, {
      access: readers,
      handler: async ({ caller, params }) => messageOf(await unfinished(caller, params.id)),
    }),
    defineRoute(api.callbacks.cancel, {
      access: publishers,
      async handler({ caller, params }) {
        const { tenantId } = caller;
        const { id: actionId } = await unfinished(caller, params.id);
        await audit.change(caller, (tx) => engine.cancel(tx, { tenantId, actionId }), {
          act: 'callback.cancel',
          target: `message ${params.id}`,
        });
        return { cancelled: 1 };
      },
    }),
    defineRoute(api.callbacks.cancelMany, {
      access: publishers,
      async handler({ body, caller, query }) {
        const { count, cursor, label: tag } = query;
        const ids = namedIds(query.messageIds, body.messageIds);
        const kind = kindMeant(caller, ids !== undefined || tag !== undefined);
        const filter = { tenantId: caller.tenantId, channel: CALLBACKS, kind, ids, tag };
        const page =
          count === undefined || count === COUNT_OF_CLIENT || ids !== undefined
            ? null
            : await engine.list(db, { ...filter, state: 'unfinished' }, { cursor, limit: count });
        const meant = page ? { ...filter, ids: page.actions.map(({ id }) => id) } : filter;
        const done = await audit.begin(caller, { act: 'callback.cancel', detail: { ...query, ...body } });
        const { cancelled, requested } = await engine.cancelMatching(db, meant);
        await done({ cancelled, requested });
        return { cancelled: cancelled + requested, ...(page?.cursor ? { cursor: page.cursor } : {}) };
      },
    }),
    defineRoute(api.callbacks.events, {
      access: readers,
      async handler({ caller, query }) {
        const { tenantId } = caller;
        const ids = idsOf(query.messageIds ?? query.messageId);
        const page = await engine.list(
          db,
          { tenantId, channel: CALLBACKS, kind: kindFor(caller), ids, tag: query.label },
          { cursor: query.cursor, limit: limitOf(query.count) },
        );
        const rows = await queries.events(
          db,
          tenantId,
          page.actions.map(({ id }) => id),
        );
        const events = page.actions.flatMap((view) =>
          (rows.get(view.id) ?? []).flatMap((row) => eventOf(view, row) ?? []),
        );
        return {
          events: events.filter(({ state }) => query.state === undefined || state === query.state),
          ...(page.cursor === null ? {} : { cursor: page.cursor }),
        };
      },
    }),
  ];
}
