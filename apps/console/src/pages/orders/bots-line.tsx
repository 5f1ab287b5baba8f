import { counted } from '../../words/numbers.ts';
import type { Board } from './board.ts';

/** How many bots there are, and how many have nothing to do. */
export function BotsLine({ board: { bots, parts }, isClaiming }: { board: Board; isClaiming: boolean }) {
  const idle = bots.filter((bot) => bot.status === 'IDLE').length;
  return (
    <p className="text-table text-ink-2">
      {bots.length === 0
        ? 'No bot yet: orders wait until there is one.'
        : `${counted(bots.length, 'bot')}, ${idle} idle.`}
      {idle > 0 &&
        parts.PENDING.orders.length > 0 &&
        (isClaiming
          ? ' Orders wait and bots are idle: those were not added in this browser, and claim for themselves.'
          : ' Orders wait and bots are idle: with auto on, this browser claims for the bots that were added here; other bots claim for themselves.')}
    </p>
  );
}
