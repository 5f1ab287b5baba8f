import { api } from '@muster/contracts';
import type { Shell } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { isId } from '../../http/ids.ts';
import { limitOf } from '../../http/page.ts';
import { readBack } from '../../http/read-back.ts';
import { created } from '../../http/replies.ts';
import type { Deliveries } from './deliveries.ts';
import { unknownDelivery } from './errors.ts';
import type { Tries } from './tries.ts';
import type { Webhooks } from './webhooks.ts';
import { wireDelivery, wireWithTries } from './wire.ts';

/** Deliveries, their answers, and replays. */
export function deliveryRoutes(
  { audit, db }: Pick<Shell, 'audit' | 'db'>,
  { deliveries, tries, webhooks }: { deliveries: Deliveries; tries: Tries; webhooks: Webhooks },
): Route[] {
  const viewers = operators('viewer');
  const admins = operators('admin');

  async function known(tenantId: number, id: string, deliveryId: string) {
    const webhook = await webhooks.known(db, tenantId, id);
    const row = isId(deliveryId) ? await deliveries.get(db, webhook, deliveryId) : null;
    if (!row) throw unknownDelivery();
    return row;
  }

  return [
    defineRoute(api.webhooks.deliveries, {
      access: viewers,
      async handler({ caller: { tenantId }, params, query: { cursor: before, limit, ...filter } }) {
        const webhook = await webhooks.known(db, tenantId, params.id);
        const page = await deliveries.list(db, webhook, { ...filter, before, limit: limitOf(limit) });
        return { deliveries: page.rows.map(wireDelivery), cursor: page.cursor };
      },
    }),
    defineRoute(api.webhooks.delivery, {
      access: viewers,
      async handler({ caller: { tenantId }, params }) {
        const row = await known(tenantId, params.id, params.deliveryId);
        return wireWithTries(row, await tries.of(db, tenantId, row.actionId));
      },
    }),
    defineRoute(api.webhooks.replayOne, {
      access: admins,
      async handler({ caller, params: { deliveryId, id }, reply }) {
        const { tenantId } = caller;
        const made = await audit.change(
          caller,
          (tx) => webhooks.replayOne(tx, tenantId, id, deliveryId),
          (delivery) => ({
            act: 'webhook.replay',
            target: `webhook ${id}`,
            detail: { deliveryId, delivery },
          }),
        );
        created(reply);
        return wireDelivery(await readBack(`delivery ${made}`, () => known(tenantId, id, made)));
      },
    }),
    defineRoute(api.webhooks.replay, {
      access: admins,
      handler: ({ body, caller, params: { id } }) =>
        audit.change(
          caller,
          (tx) => webhooks.replay(tx, caller.tenantId, id, body),
          ({ replayed }) =>
            replayed === 0
              ? null
              : { act: 'webhook.replay', target: `webhook ${id}`, detail: { ...body, replayed } },
        ),
    }),
  ];
}
