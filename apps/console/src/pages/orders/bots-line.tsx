import type { Bot, Order } from '@muster/contracts';
import { counted } from '../../words/numbers.ts';

/** How many bots there are, and how many have nothing to do. */
export function BotsLine({ bots, orders }: { bots: readonly Bot[]; orders: readonly Order[] }) {
  const idle = bots.filter((bot) => bot.status === 'IDLE').length;
  const waiting = orders.some((order) => order.status === 'PENDING');
  return (
    <p className="text-table text-ink-2">
      {bots.length === 0
        ? 'No bot yet: orders wait until there is one.'
        : `${counted(bots.length, 'bot')}, ${idle} idle.`}
      {idle > 0 &&
        waiting &&
        ' Orders wait and bots are idle: with auto on, the leading tab claims for them.'}
    </p>
  );
}
