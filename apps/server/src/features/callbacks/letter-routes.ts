import { api, type QueryOf } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import { CALLBACKS, messageIdOf } from '../../callbacks/message.ts';
import type { Shell } from '../../feature.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { limitOf } from '../../http/page.ts';
import type { Caller } from '../../tokens/caller.ts';
import { callbackError } from './errors.ts';
import { idsOf, kindFor, kindMeant, namedIds, readers } from './message-routes.ts';
import { publishers } from './publish-routes.ts';
import { letterOf } from './wire.ts';

interface Which {
  readonly ids: readonly string[] | undefined;
  readonly kind: string | undefined;
  readonly count?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Dead letters: messages whose tries are used up, until an operator retries or deletes them. */
export function letterRoutes({ audit, callbacks, db, engine }: Shell): Route[] {
  const { deliveries, letters } = callbacks;

  /** A page of them, and its cursor if there are more. */
  async function find(client: Queryable, { tenantId }: Caller, { count, cursor, ids, kind }: Which) {
    const limit = ids && count === undefined ? Math.max(ids.length, 1) : limitOf(count);
    const found = await letters.list(client, tenantId, { ids, kind, before: cursor, limit: limit + 1 });
    const page = found.slice(0, limit);
    return { ids: page, more: found.length > limit ? { cursor: page.at(-1) as string } : {} };
  }

  const meant = (
    caller: Caller,
    { dlqIds, ...page }: QueryOf<typeof api.callbacks.retry>,
    inBody: readonly string[] | undefined,
  ): Which => {
    const ids = namedIds(dlqIds, inBody);
    return { ...page, ids, kind: kindMeant(caller, ids !== undefined) };
  };

  return [
    defineRoute(api.callbacks.deadLetters, {
      access: readers,
      async handler({ caller, query }) {
        const { tenantId } = caller;
        const { dlqIds, ...page } = query;
        const { ids, more } = await find(db, caller, {
          ...{ ...page, ids: idsOf(dlqIds), kind: kindFor(caller) },
        });
        const { actions } = await engine.list(db, { tenantId, channel: CALLBACKS, ids }, { limit: 1_000 });
        const last = await deliveries.last(db, tenantId, ids);
        return {
          messages: actions.map((view) => letterOf(view, last.get(view.id))),
          ...more,
        };
      },
    }),
    defineRoute(api.callbacks.dismiss, {
      access: publishers,
      async handler({ caller, params }) {
        const deleted = await audit.change(
          caller,
          async (tx) => {
            const { ids } = await find(tx, caller, { ids: idsOf(params.id), kind: kindFor(caller) });
            return letters.dismiss(tx, caller.tenantId, ids);
          },
          (count) => (count === 0 ? null : { act: 'callback.dismiss', target: `dead letter ${params.id}` }),
        );
        if (deleted === 0) throw callbackError('MUSTER_UNKNOWN_DEAD_LETTER', 'There is no such dead letter.');
        return { deleted };
      },
    }),
    defineRoute(api.callbacks.dismissMany, {
      access: publishers,
      async handler({ body, caller, query }) {
        const which = meant(caller, query, body.dlqIds);
        const { deleted, more } = await audit.change(
          caller,
          async (tx) => {
            const { ids, more } = await find(tx, caller, which);
            return { deleted: await letters.dismiss(tx, caller.tenantId, ids), more };
          },
          ({ deleted: count }) =>
            count === 0 ? null : { act: 'callback.dismiss', detail: { ...query, ...body, count } },
        );
        return { deleted, ...more };
      },
    }),
    defineRoute(api.callbacks.retry, {
      access: publishers,
      async handler({ body, caller, query }) {
        const { tenantId } = caller;
        const which = meant(caller, query, body.dlqIds);
        const { again, more } = await audit.change(
          caller,
          async (tx) => {
            const { ids, more } = await find(tx, caller, which);
            const again: string[] = [];
            for (const actionId of ids)
              if ((await engine.redrive(tx, { tenantId, actionId })).outcome === 'redriven')
                again.push(actionId);
            return { again, more };
          },
          ({ again }) =>
            again.length === 0
              ? null
              : { act: 'callback.redrive', detail: { messages: again.map(messageIdOf) } },
        );
        return { responses: again.map((id) => ({ messageId: messageIdOf(id) })), ...more };
      },
    }),
  ];
}
