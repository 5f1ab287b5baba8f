import type { Bot } from '@muster/contracts';
import type { Board } from './board.ts';

/**
 * For whom to claim now: own bots that are idle, no more than orders wait. A bot that was claimed for after the board was asked for
 * is left out, because the board does not know of it yet.
 */
export function claimable(
  board: Board,
  own: ReadonlySet<string>,
  claimedAt: ReadonlyMap<string, number>,
): readonly Bot[] {
  return board.bots
    .filter((bot) => bot.status === 'IDLE' && own.has(bot.id))
    .filter((bot) => (claimedAt.get(bot.id) ?? 0) < board.askedAt)
    .slice(0, board.parts.PENDING.orders.length);
}
