import type { Bot, Order } from '@muster/contracts';
import { Star } from 'lucide-react';
import { Card } from '../../ui/card.tsx';
import { OrderProgress } from '../../ui/order-progress.tsx';
import { Time } from '../../ui/time.tsx';
import { botName } from '../../words/bot-name.ts';
import { counted } from '../../words/numbers.ts';
import { countOf, type Part, shownOf } from './board.ts';

const SAID: Readonly<Record<Order['status'], string>> = {
  PENDING: 'No order waits.',
  PROCESSING: 'No bot is processing an order.',
  COMPLETE: 'No order is complete yet.',
};

/** One column, VIP marked. A row is a place, not an order: its text changes and nothing moves. */
export function Column({
  status,
  part,
  bots,
}: {
  status: Order['status'];
  part: Part;
  bots: readonly Bot[];
}) {
  const orders = shownOf(status, part);
  const nameOf = (id: string) => {
    const bot = bots.find((one) => one.id === id);
    // deleted since, or beyond the shown ones
    return bot ? botName(bot) : 'a bot';
  };
  return (
    <Card
      flush
      title={
        <>
          {status} <span className="font-normal text-ink-3">{countOf(part)}</span>
        </>
      }
    >
      {orders.length === 0 && <p className="px-4 py-3 text-ink-3">{SAID[status]}</p>}
      <ul aria-label={status}>
        {orders.map((order, place) => (
          <li
            data-row
            // biome-ignore lint/suspicious/noArrayIndexKey: its place is what it is
            key={place}
            className="flex min-h-row items-center gap-2 border-b px-4 py-1 text-table last:border-b-0"
          >
            <span className="w-12 font-medium">#{order.orderNumber}</span>
            {order.type === 'VIP' ? (
              <span className="inline-flex items-center gap-1 font-semibold">
                <Star aria-hidden size={12} fill="currentColor" /> VIP
              </span>
            ) : null}
            <span className="flex-1" />
            {order.botId && <span className="text-ink-3">{nameOf(order.botId)}</span>}
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
      {orders.length < part.orders.length && (
        <p className="border-t px-4 py-2 text-label text-ink-3">
          The newest {counted(orders.length, 'order')} of {countOf(part)}.
        </p>
      )}
    </Card>
  );
}
