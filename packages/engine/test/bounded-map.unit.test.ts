import { expect, it } from 'vitest';
import { BoundedMap } from '../src/bounded-map.ts';

it('drops the oldest entry, whatever was deleted, replaced or cleared before', () => {
  const map = new BoundedMap<string, number>(3);
  for (const [key, value] of [...'abc'].entries()) map.set(value, key);
  expect(map.set('b', 10)).toBeUndefined();
  expect(map.set('d', 3)).toBe(0);
  map.delete('b');
  map.set('b', 11);
  expect(map.set('e', 4)).toBe(2);
  expect([map.get('a'), map.get('b'), map.get('c'), map.get('d'), map.get('e')]).toEqual([
    undefined,
    11,
    undefined,
    3,
    4,
  ]);
  map.clear();
  for (const key of 'xyz') map.set(key, 1);
  expect(map.set('w', 2)).toBe(1);
  expect([map.size, map.get('x'), map.get('w')]).toEqual([3, undefined, 2]);
});

it('goes on after it was full of one and empty in turns', () => {
  const map = new BoundedMap<number, number>(1);
  for (let n = 0; n < 100; n += 1) {
    expect(map.set(n, n)).toBe(n % 3 === 0 ? undefined : n - 1);
    expect(map.size).toBe(1);
    if (n % 3 === 2) map.delete(n);
  }
});
