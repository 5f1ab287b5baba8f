import { expect, test } from 'vitest';
import type { EventType } from '../src/action.ts';
import { type CheckedAction, checkLife } from '../src/check/action-life.ts';

const ACTION: CheckedAction = {
  ...{ id: '7', deadline: null, onLeaseEnd: 'retry', pending: true, leasedAttempt: null, ended: null },
};
const kinds = (action: Partial<CheckedAction>, ...events: [type: EventType, attempt: number][]) =>
  checkLife(
    { ...ACTION, ...action },
    events.map(([type, attempt], n) => ({
      ...{ id: BigInt(n), actionId: '7', laneId: '1', at: new Date(n), reason: null },
      ...{ type, attempt },
    })),
  ).violations.map(({ kind }) => kind);

test('G7: a late report may be recorded between the end of a lease and its consequence', () => {
  const before: [EventType, number][] = [
    ...([
      ['CREATED', 0],
      ['SENT', 1],
      ['TIMEOUT', 1],
      ['RETRY_SCHEDULED', 1],
      ['SENT', 2],
    ] as const),
  ].map(([type, attempt]) => [type, attempt]);
  expect(kinds({}, ...before, ['TIMEOUT', 2], ['LATE', 1], ['RETRY_SCHEDULED', 2])).toEqual([]);
  const done = { onLeaseEnd: 'succeed', pending: false, ended: 'succeeded' } as const;
  expect(kinds(done, ['CREATED', 0], ['SENT', 1], ['TIMEOUT', 1], ['LATE', 0], ['SUCCEEDED', 1])).toEqual([]);
});

test('G7: a lease end without a consequence, or with a wrong one, is reported', () => {
  expect(kinds({}, ['CREATED', 0], ['SENT', 1], ['TIMEOUT', 1], ['LATE', 0])).toContain('policy');
  expect(
    kinds({ onLeaseEnd: 'fail' }, ['CREATED', 0], ['SENT', 1], ['TIMEOUT', 1], ['RETRY_SCHEDULED', 1]),
  ).toEqual(['policy']);
});
