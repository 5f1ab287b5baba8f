import type { Bot, Order } from '@muster/contracts';
import { expect, test } from 'vitest';
import { type Board, countOf, partsOf, shownOf } from './board.ts';
import { claimable } from './claimable.ts';

const order = (id: number, status: Order['status'], completedAt: string | null = null) =>
  ({ id: String(id), status, completedAt, updatedAt: '2026-01-01T00:00:00Z' }) as Order;
const many = (from: number, number: number, status: Order['status']) =>
  Array.from({ length: number }, (_, n) => order(from + n, status));

test('a board whose first page is full of those that wait shows its other columns too', () => {
  const parts = partsOf({ orders: many(0, 200, 'PENDING'), cursor: 'a' }, [
    { orders: many(300, 3, 'PROCESSING'), cursor: null },
    { orders: many(400, 200, 'COMPLETE'), cursor: 'b' },
  ]);
  expect(countOf(parts.PENDING)).toBe('200+');
  expect(countOf(parts.PROCESSING)).toBe('3');
  expect(countOf(parts.COMPLETE)).toBe('200+');
  expect(shownOf('COMPLETE', parts.COMPLETE)).toHaveLength(50);
});

test('an order that goes on while the columns are read is in one of them, and the last to end is on top', () => {
  const parts = partsOf({ orders: [order(1, 'PENDING'), order(2, 'PENDING')], cursor: 'a' }, [
    { orders: [order(1, 'PROCESSING')], cursor: null },
    {
      orders: [
        order(4, 'COMPLETE', '2026-01-01T00:00:01Z'),
        order(3, 'COMPLETE', '2026-01-01T00:00:02Z'),
        order(1, 'COMPLETE', '2026-01-01T00:00:03Z'),
      ],
      cursor: null,
    },
  ]);
  const ids = Object.values(parts).map(({ orders }) => orders.map(({ id }) => id));
  expect(ids).toEqual([['2'], [], ['1', '3', '4']]);
});

test('claims are for own bots that are idle by a board that was asked for after the last claim', () => {
  const bots = ['mine', 'other', 'mine too', 'busy'].map(
    (id) => ({ id, status: id === 'busy' ? 'PROCESSING' : 'IDLE' }) as Bot,
  );
  const board = (waiting: number): Board => ({
    ...{ bots, askedAt: 10, readAt: 12 },
    parts: partsOf({ orders: many(0, waiting, 'PENDING'), cursor: null }, []),
  });
  const own = new Set(['mine', 'mine too', 'busy']);
  const ids = (waiting: number, claimedAt: Record<string, number> = {}) =>
    claimable(board(waiting), own, new Map(Object.entries(claimedAt))).map(({ id }) => id);
  expect(ids(5)).toEqual(['mine', 'mine too']);
  expect(ids(1)).toEqual(['mine']);
  expect(ids(5, { mine: 11, 'mine too': 9 })).toEqual(['mine too']);
});
