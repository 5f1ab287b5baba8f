import type { Engine, EventType } from '@muster/engine';
import type { DoorWords } from '../../events/door-events.ts';

/** What happens to an order's action, in the words of this door. */
const WORDS: { readonly [Type in EventType]?: string } = {
  CREATED: 'order.created',
  SENT: 'order.started',
  RELEASED: 'order.returned',
  SUCCEEDED: 'order.completed',
  CANCELLED: 'order.deleted',
};

export function orderEvents({ schema: s }: Engine): DoorWords {
  return async (client, tenantId, events) => {
    const { rows } = await client.query({
      name: 'muster_orders_of_events',
      text: `select i.action_id, o.order_id, o.order_number, o.type, o.user_id from unnest((select $2::bigint[])) i(action_id)
        cross join lateral (
          select * from ${s}.orders o where o.tenant_id = $1 and o.action_id = i.action_id and ${s}.sought_by(o.action_id) limit 1
        ) o`,
      values: [tenantId, [...new Set(events.map(({ actionId }) => actionId ?? '0'))]],
    });
    const orders = new Map(rows.map((row) => [row.action_id, row]));
    return events.map(({ actionId, type, worker }) => {
      const order = orders.get(actionId);
      const word = WORDS[type];
      if (!order || !word) return null;
      return {
        type: word,
        subject: `order/${order.order_id}`,
        data: {
          ...{
            orderId: order.order_id,
            orderNumber: Number(order.order_number),
            type: order.type,
            userId: order.user_id,
          },
          ...(worker === null ? {} : { botId: worker }),
        },
      };
    });
  };
}
