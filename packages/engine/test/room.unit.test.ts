import { expect, test } from 'vitest';
import { Room } from '../src/room.ts';

const MB = 1_048_576;

test.each([
  [3, 100_000],
  [20, 1_024],
  [20, 0],
])(
  'G64: when %i tenants have filled it with calls of %i bytes, newcomers find room for a megabyte',
  (many, bytes) => {
    const room = new Room();
    for (let tenant = 1; tenant <= many; tenant += 1) while (room.enter(tenant, bytes)); // takes what it can get
    for (const newcomer of [101, 102, 103]) expect(room.enter(newcomer, MB)).toBe(true);
  },
);

test('G64: each newcomer may use the room kept for newcomers for one call', () => {
  const room = new Room();
  for (const tenant of [1, 2, 3]) while (room.enter(tenant, 100_000));
  expect(room.enter(4, MB)).toBe(true);
  expect(room.enter(4, 1)).toBe(false);
  expect(room.enter(1, 1)).toBe(false);
  room.leave(4, MB);
  expect(room.enter(4, MB)).toBe(true);
});

test('G64: a larger body does not take it, but is let in where nothing waits', () => {
  const room = new Room({ calls: 100, bytes: 16 * MB });
  expect(room.enter(1, 16 * MB)).toBe(true);
  room.leave(1, 16 * MB);
  expect(room.enter(1, 1)).toBe(true);
  expect(room.enter(2, 15 * MB)).toBe(false);
  expect(room.enter(2, MB)).toBe(true);
});
