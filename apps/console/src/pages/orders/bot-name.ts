import type { Bot } from '@muster/contracts';

/** Bots have no names: they are called by their place in the list, which is that of their making. */
export function botName(bots: readonly Bot[], id: string): string {
  const place = bots.findIndex((bot) => bot.id === id);
  return place < 0 ? 'a bot' : `bot ${place + 1}`;
}
