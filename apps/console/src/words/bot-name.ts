import type { Bot } from '@muster/contracts';

/** Bots have no names: they are called by their number, which never changes. */
export const botName = ({ number }: Pick<Bot, 'number'>) => `bot ${number}`;
