import type { Bot } from '@muster/contracts';
import type { Board } from './board.ts';

/**
 * The bots to claim for now: own idle bots, at most as many as orders wait. A bot that was claimed for after the board was requested
 * is left out, because that board does not show it yet.
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
