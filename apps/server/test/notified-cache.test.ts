import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NotifiedCache } from '../src/database/notified-cache.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase({ migrated: false });
});
afterAll(() => database.drop());

const time = { ms: 0 };
const heard: string[] = [];
const make = (most = 10) =>
  new NotifiedCache<string>(database.db, {
    channel: 'news_of_the_test',
    most,
    keptMs: 1_000,
    clock: () => time.ms,
    onTold: (word) => heard.push(word),
  });

test('it keeps a limited number, the newest, each for a limited time', () => {
  const cache = make(2);
  for (const key of ['a', 'b', 'a', 'c']) cache.keep(key, key, cache.version);
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a', undefined, 'c']);
  time.ms += 1_000;
  expect(['a', 'c'].map((key) => cache.get(key))).toEqual([undefined, undefined]);
});

test('a notified entry is forgotten after the commit, not before it and not without it', async () => {
  const cache = make();
  cache.keep('hash', 'caller', cache.version, 'word');
  const undone = database.db.transaction(async (tx) => {
    await cache.tell(tx, ['word']);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await database.db.transaction(async (tx) => {
    await cache.tell(tx, ['word']);
    expect(cache.get('hash')).toBe('caller');
  });
  expect(cache.get('hash')).toBeUndefined();
});

test('a value read before a change is not kept after it', async () => {
  const cache = make();
  const { version } = cache;
  await cache.tell(database.db, ['another']);
  cache.keep('a', 'old', version);
  expect(cache.get('a')).toBeUndefined();
});

test('another node is notified', async () => {
  const [here, there] = [make(), make()];
  const listening = await there.start();
  there.keep('a', 'old', there.version);
  heard.length = 0;
  await here.tell(database.db, ['a']);
  await expect.poll(() => heard).toEqual(['a', 'a']);
  expect(there.get('a')).toBeUndefined();
  await listening.stop();
});
