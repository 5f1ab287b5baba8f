import { beforeEach, expect, test } from 'vitest';
import { DatabaseClock } from '../src/database-clock.ts';

/** A node whose clocks the test moves, and a database whose clock is an hour ahead of the node's. */
const HOUR = 3_600_000;
let monotonic = 0;
let wall = 0;
let ahead = HOUR;
let questions = 0;
let clock: DatabaseClock;

const passes = (ms: number) => {
  monotonic += ms;
  wall += ms;
};
const databaseMs = () => wall + ahead;
const database = {
  /** Each direction takes 5 ms. */
  async query() {
    questions += 1;
    passes(5);
    const ms = databaseMs();
    passes(5);
    return { rows: [{ ms }] };
  },
};

beforeEach(() => {
  monotonic = 1_000;
  wall = Date.parse('2026-03-01T12:00:00Z');
  ahead = HOUR;
  questions = 0;
  clock = new DatabaseClock({ monotonic: () => monotonic, wall: () => wall });
});

const off = () => clock.now().getTime() - databaseMs();

test('there is no time before the first question', () => {
  expect(() => clock.now()).toThrow('has not been read yet');
  expect(clock.ready(database)).toBeInstanceOf(Promise);
});

test('once read, the database’s time goes on with the monotonic clock', async () => {
  await clock.ready(database);
  expect(off()).toBe(0);
  passes(14_000);
  expect(off()).toBe(0);
  expect(clock.ready(database)).toBeUndefined();
  expect(questions).toBe(1);
});

test('concurrent calls with the same client share the question; another client asks itself', async () => {
  const other = { query: database.query };
  await Promise.all([clock.ready(database), clock.ready(database), clock.ready(other)]);
  expect(questions).toBe(2);
});

test('an answer older than 15 s is refreshed', async () => {
  await clock.ready(database);
  passes(15_020);
  await clock.ready(database);
  expect(questions).toBe(2);
});

test('after a suspend, which the monotonic clock does not count, the clock is read again', async () => {
  await clock.ready(database);
  wall += 8 * HOUR;
  expect(clock.ready(database)).toBeInstanceOf(Promise);
  await clock.ready(database);
  expect(off()).toBe(0);
});

test('a failed question is repeated by the next caller', async () => {
  const broken = { query: () => Promise.reject(new Error('gone')) };
  await expect(clock.ready(broken)).rejects.toThrow('gone');
  await clock.ready(database);
  expect(off()).toBe(0);
});

test('a slow answer does not spoil a good one', async () => {
  await clock.ready(database);
  const sentAt = clock.start();
  const said = databaseMs();
  passes(4_000); // the way back was long: on its own the answer would be two seconds off
  clock.measured(sentAt, said);
  expect(off()).toBe(0);
});

test('nor does an answer from a database that stood still for longer than an answer counts', async () => {
  await clock.ready(database);
  passes(20_000);
  const sentAt = clock.start();
  passes(4_000);
  clock.measured(sentAt, databaseMs()); // it went on at the very end: on its own two seconds ahead
  expect(off()).toBe(0);
});

test('after a suspend a slow answer is used and the clock is read again', async () => {
  await clock.ready(database);
  wall += 8 * HOUR;
  const sentAt = clock.start();
  passes(4_000);
  clock.measured(sentAt, databaseMs());
  expect(Math.abs(off())).toBeLessThanOrEqual(2_000);
  await clock.ready(database);
  expect(off()).toBeGreaterThanOrEqual(0); // it does not go back by less than a second
  passes(3_000);
  expect(off()).toBe(0);
});

test('a change of the database’s clock is followed', async () => {
  await clock.ready(database);
  ahead -= HOUR;
  const sentAt = clock.start();
  clock.measured(sentAt, databaseMs());
  expect(off()).toBe(0);
});

test('a better measurement does not turn time back', async () => {
  const sentAt = clock.start();
  const said = databaseMs();
  passes(100); // taken for 50 ms each way, so 50 ms behind
  clock.measured(sentAt, said + 100);
  const before = clock.now().getTime();
  await clock.ready(database);
  const exact = clock.start();
  clock.measured(exact, databaseMs());
  expect(clock.now().getTime()).toBe(before);
  passes(1_000);
  expect(off()).toBe(0);
});
