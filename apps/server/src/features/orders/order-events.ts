import type { Engine, EventType } from '@muster/engine';
import type { DoorEvent, DoorWords } from '../../events/door-events.ts';
import type { StreamEvent } from '../../events/stream-event.ts';
import type { OrderRow } from './wire.ts';

type Told = Pick<StreamEvent, 'at' | 'worker'>;

/** Events of an order's action in the words of this door, and the status of the order after each. */
const WORDS: {
  readonly [Type in EventType]?: {
    type: string;
    after: (event: Told, order: OrderRow, ms: number) => object;
  };
} = {
  CREATED: { type: 'order.created', after: () => ({ status: 'PENDING' }) },
  SENT: {
    type: 'order.started',
    after: ({ at, worker }, _, ms) => ({
      ...{ status: 'PROCESSING', botId: worker, processingStartedAt: at.toISOString() },
      processingEndsAt: new Date(at.getTime() + ms).toISOString(),
    }),
  },
  RELEASED: { type: 'order.returned', after: () => ({ status: 'PENDING' }) },
  // a complete order stays complete: the row says what it was at this event
  SUCCEEDED: {
    type: 'order.completed',
    after: ({ at }, order) => ({
      ...{ status: 'COMPLETE', botId: order.bot_id },
      processingStartedAt: order.processing_started_at?.toISOString() ?? null,
      ...{ completedAt: at.toISOString(), completionReason: order.completion_reason },
    }),
  },
  CANCELLED: {
    type: 'order.deleted',
    after: ({ at }) => ({ status: 'PENDING', deletedAt: at.toISOString() }),
  },
};

export function orderEvents({ schema: s }: Engine, seconds: number): DoorWords {
  function say(event: StreamEvent, order: OrderRow | undefined): DoorEvent | null {
    const word = WORDS[event.type];
    if (!order || !word) return null;
    return {
      type: word.type,
      subject: `order/${order.order_id}`,
      data: {
        ...{ orderId: order.order_id, orderNumber: Number(order.order_number), type: order.type },
        ...{ userId: order.user_id, createdAt: order.created_at.toISOString() },
        ...word.after(event, order, seconds * 1_000),
      },
    };
  }

  return async (client, tenantId, events) => {
    // by the action's payload: a restored order has another action
    const { rows } = await client.query({
      name: 'muster_orders_of_events',
      text: `select i.action_id as "ofAction", o.* from unnest((select $2::bigint[])) i(action_id)
        cross join lateral (
          select (a.payload->>'orderId')::uuid as order_id from ${s}.action_states a where a.tenant_id = $1 and a.action_id = i.action_id limit 1
        ) a
        cross join lateral (select * from ${s}.orders o where o.tenant_id = $1 and o.order_id = a.order_id limit 1) o`,
      values: [tenantId, [...new Set(events.map(({ actionId }) => actionId ?? '0'))]],
    });
    const orders = new Map<string, OrderRow>(rows.map((row) => [row.ofAction, row]));
    return events.map((event) => say(event, orders.get(event.actionId ?? '')));
  };
}
