import type { Bot, Order } from '@muster/contracts';
import { ask } from '../../api/ask.ts';

export const STATUSES = ['PENDING', 'PROCESSING', 'COMPLETE'] as const;

/** The rows of a column, and whether there are more. */
export interface Part {
  readonly orders: readonly Order[];
  readonly more: boolean;
}

/** The whole board, and when it was read. */
export interface Board {
  readonly parts: Readonly<Record<Order['status'], Part>>;
  readonly bots: readonly Bot[];
  /** When it was requested: later changes may not be on it. */
  readonly askedAt: number;
  readonly readAt: number;
}

const SHOWN = 200;
/** Only the newest complete orders are shown. */
const ENDED = 50;

/** A small board is one answer. If waiting orders fill the first page, each column is read by itself. */
export async function readBoard(signal?: AbortSignal): Promise<Board> {
  const askedAt = Date.now();
  const [first, { bots }] = await Promise.all([
    ask('GET', '/api/orders', { query: { limit: SHOWN }, signal }),
    ask('GET', '/api/bots', { query: { limit: SHOWN }, signal }),
  ]);
  const read = (status: Order['status'], limit: number) =>
    ask('GET', '/api/orders', { query: { status, limit }, signal });
  const later =
    first.cursor === null ? [] : await Promise.all([read('PROCESSING', SHOWN), read('COMPLETE', SHOWN)]);
  return { parts: partsOf(first, later), bots, askedAt, readAt: Date.now() };
}

interface Page {
  readonly orders: readonly Order[];
  readonly cursor: string | null;
}

/** Pages read one after the other: an order that moved in between is where it was seen last. */
export function partsOf(first: Page, later: readonly Page[]): Board['parts'] {
  const newest = new Map<string, Order>();
  for (const order of [first, ...later].flatMap(({ orders }) => orders)) newest.set(order.id, order);
  const of = (status: Order['status']) => [...newest.values()].filter((order) => order.status === status);
  const isCut = (status: Order['status']) =>
    first.cursor !== null &&
    [first, ...later].some(
      ({ cursor, orders }) => cursor !== null && orders.every((order) => order.status === status),
    );
  const ended = of('COMPLETE').sort((a, b) => endOf(b) - endOf(a));
  return {
    PENDING: { orders: of('PENDING'), more: isCut('PENDING') },
    PROCESSING: { orders: of('PROCESSING'), more: isCut('PROCESSING') },
    COMPLETE: { orders: ended, more: isCut('COMPLETE') },
  };
}
const endOf = (order: Order) => Date.parse(order.completedAt ?? order.updatedAt);

/** "24", or "200+". */
export const countOf = ({ orders, more }: Part) => `${orders.length}${more ? '+' : ''}`;
/** The shown rows of a column. */
export const shownOf = (status: Order['status'], { orders }: Part) =>
  status === 'COMPLETE' ? orders.slice(0, ENDED) : orders;

/** The last board is kept, to be shown while the server is away. */
const key = (tenant: string) => `muster-board-${tenant}`;

export function keepBoard(tenant: string, board: Board): void {
  try {
    localStorage.setItem(key(tenant), JSON.stringify(board));
  } catch {
    // storage is full or forbidden: there is none
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
