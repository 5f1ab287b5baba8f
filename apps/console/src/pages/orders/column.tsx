import type { Bot, Order } from '@muster/contracts';
import { Star } from 'lucide-react';
import { Card } from '../../ui/card.tsx';
import { Time } from '../../ui/time.tsx';
import { count } from '../../words/numbers.ts';
import { botName } from './bot-name.ts';
import { OrderProgress } from './order-progress.tsx';

const SAID: Readonly<Record<Order['status'], string>> = {
  PENDING: 'No order waits.',
  PROCESSING: 'No bot processes anything.',
  COMPLETE: 'None is complete yet.',
};

/** One column: orders in the order of the server, VIP marked. */
export function Column({
  status,
  orders,
  bots,
}: {
  status: Order['status'];
  orders: readonly Order[];
  bots: readonly Bot[];
}) {
  return (
    <Card
      flush
      title={
        <>
          {status} <span className="font-normal text-ink-3">{count(orders.length)}</span>
        </>
      }
    >
      {orders.length === 0 && <p className="px-4 py-3 text-ink-3">{SAID[status]}</p>}
      <ul aria-label={status}>
        {orders.map((order) => (
          <li
            key={order.id}
            className="flex min-h-row items-center gap-2 border-b px-4 py-1 text-table last:border-b-0"
          >
            <span className="w-12 font-medium">#{order.orderNumber}</span>
            {order.type === 'VIP' ? (
              <span className="inline-flex items-center gap-1 font-semibold">
                <Star aria-hidden size={12} fill="currentColor" /> VIP
              </span>
            ) : null}
            <span className="flex-1" />
            {order.botId && <span className="text-ink-3">{botName(bots, order.botId)}</span>}
            {status === 'PROCESSING' && order.processingStartedAt && order.processingEndsAt ? (
              <OrderProgress from={order.processingStartedAt} until={order.processingEndsAt} />
            ) : (
              <span className="text-ink-3">
                <Time at={order.completedAt ?? order.createdAt} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
