import { api } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import { CALLBACKS, messageIdOf } from '../../callbacks/message.ts';
import type { Shell } from '../../feature.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { limitOf } from '../../http/page.ts';
import type { Caller } from '../../tokens/caller.ts';
import { callbackError } from './errors.ts';
import { idsOf, kindFor, readers } from './message-routes.ts';
import { publishers } from './publish-routes.ts';
import { letterOf } from './wire.ts';

interface Which {
  readonly dlqIds?: string | readonly string[] | undefined;
  readonly count?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Dead letters: messages whose tries are used up, until somebody tries them again or has dealt with them. */
export function letterRoutes({ audit, callbacks, db, engine }: Shell): Route[] {
  const { deliveries, letters } = callbacks;

  const find = (client: Queryable, caller: Caller, { count, cursor, dlqIds }: Which, more = 0) =>
    letters.list(client, caller.tenantId, {
      ...{ ids: idsOf(dlqIds), kind: kindFor(caller), before: cursor, limit: limitOf(count) + more },
    });

  return [
    defineRoute(api.callbacks.deadLetters, {
      access: readers,
      async handler({ caller, query }) {
        const { tenantId } = caller;
        const found = await find(db, caller, query, 1);
        const ids = found.slice(0, limitOf(query.count));
        const { actions } = await engine.list(db, { tenantId, channel: CALLBACKS, ids }, { limit: 1_000 });
        const last = await deliveries.last(db, tenantId, ids);
        return {
          messages: actions.map((view) => letterOf(view, last.get(view.id))),
          ...(found.length > ids.length ? { cursor: ids.at(-1) as string } : {}),
        };
      },
    }),
    defineRoute(api.callbacks.dismiss, {
      access: publishers,
      async handler({ caller, params }) {
        const deleted = await audit.change(
          caller,
          async (tx) => letters.dismiss(tx, caller.tenantId, await find(tx, caller, { dlqIds: params.id })),
          (count) => (count === 0 ? null : { act: 'callback.dismiss', target: `dead letter ${params.id}` }),
        );
        if (deleted === 0) throw callbackError('MUSTER_UNKNOWN_DEAD_LETTER', 'There is no such dead letter.');
        return { deleted };
      },
    }),
    defineRoute(api.callbacks.dismissMany, {
      access: publishers,
      async handler({ caller, query }) {
        const deleted = await audit.change(
          caller,
          async (tx) => letters.dismiss(tx, caller.tenantId, await find(tx, caller, query)),
          (count) => (count === 0 ? null : { act: 'callback.dismiss', detail: { ...query, count } }),
        );
        return { deleted };
      },
    }),
    defineRoute(api.callbacks.retry, {
      access: publishers,
      async handler({ caller, query }) {
        const { tenantId } = caller;
        const redriven = await audit.change(
          caller,
          async (tx) => {
            const again: string[] = [];
            for (const actionId of await find(tx, caller, query))
              if ((await engine.redrive(tx, { tenantId, actionId })).outcome === 'redriven')
                again.push(actionId);
            return again;
          },
          (again) =>
            again.length === 0
              ? null
              : { act: 'callback.redrive', detail: { messages: again.map(messageIdOf) } },
        );
        return { responses: redriven.map((id) => ({ messageId: messageIdOf(id) })) };
      },
    }),
  ];
}
