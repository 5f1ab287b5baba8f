import type { Bot, Order } from '@muster/contracts';
import { ask } from '../../api/ask.ts';

/** All that is on the board, and when it was so. */
export interface Board {
  readonly orders: readonly Order[];
  readonly bots: readonly Bot[];
  readonly readAt: number;
}

/** Complete ones are the last of the list: of a long one the first page is enough. */
const SHOWN = 200;

export async function readBoard(signal?: AbortSignal): Promise<Board> {
  const [{ orders }, { bots }] = await Promise.all([
    ask('GET', '/api/orders', { query: { limit: SHOWN }, signal }),
    ask('GET', '/api/bots', { query: { limit: SHOWN }, signal }),
  ]);
  return { orders, bots, readAt: Date.now() };
}

/** The last board is kept, to be looked at without a server. */
const key = (tenant: string) => `muster-orders-${tenant}`;

export function keepBoard(tenant: string, board: Board): void {
  try {
    localStorage.setItem(key(tenant), JSON.stringify(board));
  } catch {
    // full or forbidden: then there is none
  }
}

export function keptBoard(tenant: string): Board | undefined {
  try {
    const text = localStorage.getItem(key(tenant));
    return text === null ? undefined : (JSON.parse(text) as Board);
  } catch {
    return undefined;
  }
}
