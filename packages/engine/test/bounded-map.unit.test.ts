import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

it('works on after alternating between one entry and none', () => {
  const map = new BoundedMap<number, number>(1);
  for (let n = 0; n < 100; n += 1) {
    expect(map.set(n, n)).toBe(n % 3 === 0 ? undefined : n - 1);
    expect(map.size).toBe(1);
    if (n % 3 === 2) map.delete(n);
  }
});

it('keeps no memory of removed entries', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const map = new BoundedMap<string, number>(1_000_000);
  const before = used();
  for (let n = 0; n < 400_000; n += 1) {
    map.set(`key ${n}`, n);
    map.delete(`key ${n}`);
  }
  // a retained iterator held 60 MB
  expect(used() - before).toBeLessThan(15_000_000);
  expect(map.size).toBe(0);
});
