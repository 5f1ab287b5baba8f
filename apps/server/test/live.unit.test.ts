import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StreamEvent } from '../src/events/stream-event.ts';
import { Hints } from '../src/features/live/hints.ts';
import { Paced } from '../src/features/live/paced.ts';

const event = (more: Partial<StreamEvent>) =>
  ({ actionId: null, laneName: null, space: null, reason: null, type: 'CREATED', ...more }) as StreamEvent;
const actions = (count: number, length = 1) =>
  Array.from({ length: count }, (_one, n) => event({ actionId: String(n).padStart(length, '1') }));

test('a message names each thing once, with at most five hundred entries and eight kilobytes', () => {
  const hints = new Hints();
  expect([hints.isEmpty, hints.take()]).toEqual([true, null]);
  const about = { actionId: '7', space: 'device', laneName: '3' };
  hints.add({
    events: [event(about), event({ ...about, type: 'SENT' }), event({ type: 'NOTED', reason: 'n' })],
  });
  expect(hints.take()).toEqual({
    event: 'changed',
    data: { actions: ['7'], targets: ['device:3'], notes: ['n'] },
  });
  expect(hints.take()).toBeNull();

  hints.add({ events: actions(500) });
  expect(hints.take()?.event).toBe('changed');
  hints.add({ events: actions(501) });
  hints.add({ events: actions(1) });
  expect(hints.take()).toEqual({ event: 'many', data: {} });
  expect(hints.take()).toBeNull();
  hints.add({ events: actions(500, 18) });
  expect(hints.take()?.event).toBe('many');
  hints.addMany();
  expect(hints.take()?.event).toBe('many');
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('there is a pause between messages, and what happens meanwhile is in the next one', () => {
  const sent: string[][] = [];
  let waiting: string[] = [];
  let hasRoom = true;
  const paced = new Paced({
    pauseMs: 500,
    hasRoom: () => hasRoom,
    send() {
      if (waiting.length === 0) return false;
      sent.push(waiting);
      waiting = [];
      return true;
    },
  });
  const add = (text: string) => {
    waiting.push(text);
    paced.soon();
  };
  add('a');
  expect(sent).toEqual([['a']]); // the first one is sent without a pause
  add('b');
  add('c');
  vi.advanceTimersByTime(499);
  expect(sent).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([['a'], ['b', 'c']]);
  hasRoom = false; // a client that does not read is sent nothing, and nothing is kept for it but what is in `waiting`
  vi.advanceTimersByTime(5_000);
  add('d');
  expect(sent).toHaveLength(2);
  hasRoom = true;
  paced.soon();
  expect(sent).toEqual([['a'], ['b', 'c'], ['d']]);
  add('e');
  paced.stop();
  vi.advanceTimersByTime(5_000);
  expect(sent).toHaveLength(3);
});
