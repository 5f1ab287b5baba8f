import type { HistoryAction, HistoryEvent } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import type { Call, Op } from '../testing/torture/call-log.ts';
import { checkAnswers } from '../testing/torture/check-answers.ts';
import { checkEnqueues } from '../testing/torture/check-enqueues.ts';
import { checkFeed } from '../testing/torture/check-feed.ts';
import { checkTold } from '../testing/torture/check-told.ts';
import type { Asked, Evidence } from '../testing/torture/evidence.ts';

/**
 * A small correct round, and every falsification that the checker must detect, each with its promise. Two actions of one lane: the
 * first is handed out, released, handed out again and succeeds; the second is superseded by a third, which is cancelled while it
 * runs.
 */
interface Story {
  calls: Call[];
  events: HistoryEvent[];
  asked: Asked[];
  applied: Evidence['applied'][number][];
  seen: Evidence['seen'][number][];
  states: Record<string, HistoryAction['ended']>;
}

function tellStory(): Story {
  let ticks = 0;
  const calls: Call[] = [];
  const call = (
    op: Op,
    id: string | null,
    body: object,
    status: number | null,
    answer: object,
    more = {},
  ) => {
    ticks += 2;
    calls.push({
      n: calls.length + 1,
      client: op === 'enqueue' || op === 'cancel' ? 'operator' : 'w',
      node: 0,
      op,
      id,
      lane: 'lane-1',
      body: body as Call['body'],
      key: null,
      begun: ticks - 1,
      ended: ticks,
      status,
      answer: status === null ? null : (answer as Call['answer']),
      error: null,
      ...more,
    });
  };
  const leaseUntil = '2026-03-01T12:01:00.000Z';
  const handed = (id: string, attempt: number, more = {}) => ({
    actions: [{ id, attempt, leaseUntil, ...more }],
  });
  const lock = { supersede: { key: 'lock', mode: 'replace' } };
  call('enqueue', null, { payload: { mark: 1 } }, null, {}, { key: 'k' });
  call('enqueue', null, { payload: { mark: 1 } }, 200, { id: '1' }, { key: 'k' });
  call('enqueue', null, { payload: { mark: 2 }, ...lock }, 201, { id: '2' });
  call('enqueue', null, { payload: { mark: 3 }, ...lock }, 201, { id: '3' });
  call('claim', null, { worker: 'w' }, 200, handed('1', 1));
  call('claim', null, { worker: 'w' }, 200, handed('1', 1, { redelivered: true }));
  call('release', '1', { attempt: 1 }, 200, { accepted: true, status: 'pending' });
  call('claim', null, { worker: 'w' }, 200, handed('1', 2));
  call('report', '1', { attempt: 1, status: 'failed', next: {} }, 200, { accepted: false, actions: [] });
  call('report', '1', { attempt: 2, status: 'succeeded', next: {} }, 200, {
    accepted: true,
    status: 'succeeded',
    ...handed('3', 1),
  });
  call('report', '1', { attempt: 2, status: 'succeeded' }, 200, { accepted: true, status: 'succeeded' });
  call('cancel', '3', {}, 200, { outcome: 'requested' });
  call('report', '3', { attempt: 1, status: 'failed' }, 200, { accepted: true, status: 'cancelled' });

  const events: HistoryEvent[] = [];
  const event = (actionId: string, type: HistoryEvent['type'], attempt = 0, more = {}) =>
    events.push({
      id: BigInt(events.length + 1),
      actionId,
      laneId: '1',
      type,
      attempt,
      at: new Date('2026-03-01T12:00:00.000Z'),
      worker: type === 'SENT' ? 'w' : null,
      reason: null,
      ...more,
    });
  event('1', 'CREATED');
  event('2', 'CREATED');
  event('2', 'SUPERSEDED');
  event('3', 'CREATED');
  event('1', 'SENT', 1);
  event('1', 'REDELIVERED', 1);
  event('1', 'RELEASED', 1);
  event('1', 'SENT', 2);
  event('1', 'LATE', 1, { reason: 'FAILED' });
  event('1', 'SUCCEEDED', 2);
  event('3', 'SENT', 1);
  event('3', 'CANCEL_REQUESTED', 1);
  event('3', 'FAILED', 1);
  event('3', 'CANCELLED', 1);
  return {
    calls,
    events,
    asked: [1, 2, 3].map((mark) => ({
      id: String(mark),
      mark,
      lane: 'lane-1',
      supersedeKey: mark === 1 ? null : 'lock',
    })),
    applied: [],
    seen: events.map(({ id, actionId, type }) => ({ eventId: String(id), actionId, type })),
    states: { 1: 'succeeded', 2: 'cancelled', 3: 'cancelled' },
  };
}

function check(story: Story): string[] {
  const actions = Object.entries(story.states).map(([id, ended]): [string, HistoryAction] => [
    id,
    {
      id,
      laneId: '1',
      presentLane: ended === null ? '1' : null,
      channel: 'generic',
      urgent: false,
      tagged: false,
      delayed: false,
      limited: false,
      deadline: null,
      onLeaseEnd: 'retry',
      generation: null,
      pending: ended === null,
      leasedAttempt: null,
      ended,
      reason: null,
    },
  ]);
  const counts = new Map<string, number>();
  for (const [, { ended }] of actions)
    counts.set(`generic ${ended ?? 'pending'}`, (counts.get(`generic ${ended ?? 'pending'}`) ?? 0) + 1);
  const evidence: Evidence = {
    ...story,
    faults: [],
    history: { actions: new Map(actions), events: story.events, feed: [], lanes: [], runners: [], counts },
    eventsOf: (id) => story.events.filter(({ actionId }) => actionId === id),
    asked: new Map(story.asked.map((one) => [one.id, one])),
  };
  const found = [
    ...checkTold(evidence),
    ...checkEnqueues(evidence),
    ...checkAnswers(evidence),
    ...checkFeed(evidence.seen, story.events),
  ];
  return [...new Set(found.map(({ promise }) => promise))].sort();
}

test('a correct round has no violations', () => {
  expect(check(tellStory())).toEqual([]);
});

const nth = (story: Story, n: number) => story.calls[n - 1] as Call;
const without = (story: Story, actionId: string, type: string) => {
  story.events = story.events.filter((event) => event.actionId !== actionId || event.type !== type);
};

const LIES: Record<string, { promise: string; tell: (story: Story) => void }> = {
  'an acknowledged action is gone': {
    promise: 'G54',
    tell: (story) => {
      story.events = story.events.filter(({ actionId }) => actionId !== '2');
      delete story.states[2];
    },
  },
  'an acknowledged action never ends': {
    promise: 'G54',
    tell: (story) => {
      without(story, '2', 'SUPERSEDED');
      story.states[2] = null;
    },
  },
  'an accepted report is gone': { promise: 'G54', tell: (story) => without(story, '3', 'FAILED') },
  'a requested cancel is gone': { promise: 'G54', tell: (story) => without(story, '3', 'CANCEL_REQUESTED') },
  'the later one came first': {
    promise: 'G10',
    tell: (story) => {
      // nothing connects 2 and 3 any more, and 3 is handed out while 2 is there
      without(story, '2', 'SUPERSEDED');
      story.events.push({ ...(story.events[0] as HistoryEvent), id: 99n, actionId: '2', type: 'CANCELLED' });
    },
  },
  'one key has two actions': {
    promise: 'G25',
    tell: (story) => story.asked.push({ ...(story.asked[0] as Asked), id: '4' }),
  },
  'one call has two actions': {
    promise: 'G35',
    tell: (story) => story.asked.push({ ...(story.asked[1] as Asked), id: '4' }),
  },
  'an answer tells of the action of another': {
    promise: 'G35',
    tell: (story) => {
      nth(story, 4).answer = { id: '1' };
    },
  },
  'an action that no client asked for': {
    promise: 'G35',
    tell: (story) => story.asked.push({ ...(story.asked[0] as Asked), id: '4', mark: 77 }),
  },
  'a transaction that was rolled back left an action': {
    promise: 'G48',
    tell: (story) => {
      const one = { lane: 'lane-1', mark: 5, id: '5', outcome: 'rolled back', begun: 90, ended: 91 } as const;
      story.applied.push(one);
      story.asked.push({ id: '5', mark: 5, lane: 'lane-1', supersedeKey: null });
    },
  },
  'what was superseded was still there': {
    promise: 'G26',
    tell: (story) => {
      story.events = story.events.map((event) =>
        event.type === 'SUPERSEDED' ? { ...event, id: 50n } : event,
      );
    },
  },
  'a report ended an attempt twice': {
    promise: 'G15',
    tell: (story) => story.events.push({ ...(story.events[9] as HistoryEvent), id: 99n }),
  },
  'two reports of one attempt were accepted': {
    promise: 'G15',
    tell: (story) => {
      nth(story, 11).body = { attempt: 2, status: 'failed' };
    },
  },
  'an accepted success did not stay': {
    promise: 'G2',
    tell: (story) => {
      story.states[1] = 'failed';
    },
  },
  'the same report was answered in two ways': {
    promise: 'G16',
    tell: (story) => {
      nth(story, 11).answer = { accepted: true, status: 'pending' };
    },
  },
  'an accepted report was refused later': {
    promise: 'G16',
    tell: (story) => {
      nth(story, 11).answer = { accepted: false, status: 'succeeded' };
    },
  },
  'a refused report is not on record': { promise: 'G17', tell: (story) => without(story, '1', 'LATE') },
  'a refused report brought the same action': {
    promise: 'G19',
    tell: (story) => {
      nth(story, 9).answer = {
        accepted: false,
        actions: [{ id: '1', attempt: 2, leaseUntil: '2026-03-01T12:01:00Z' }],
      };
    },
  },
  'another worker got the attempt': {
    promise: 'G11',
    tell: (story) => {
      story.calls[5] = { ...nth(story, 6), client: 'thief' };
    },
  },
  'an attempt was handed out twice': {
    promise: 'G3',
    tell: (story) => {
      nth(story, 6).answer = nth(story, 5).answer;
    },
  },
  'an attempt went backwards': {
    promise: 'G3',
    tell: (story) => story.calls.push({ ...nth(story, 6), n: 99, begun: 98, ended: 99 }),
  },
  'an attempt was given again for ever': {
    promise: 'G30',
    tell: (story) => {
      for (let n = 0; n < 10; n += 1)
        story.events.push({ ...(story.events[5] as HistoryEvent), id: BigInt(50 + n) });
    },
  },
  'a cancelled action was tried again': {
    promise: 'G21',
    tell: (story) =>
      story.events.splice(13, 0, {
        ...(story.events[10] as HistoryEvent),
        id: 99n,
        attempt: 2,
      } as HistoryEvent),
  },
  'the feed skipped an event': { promise: 'G43', tell: (story) => story.seen.splice(3, 1) },
  'the feed showed an event twice': {
    promise: 'G43',
    tell: (story) => story.seen.push(story.seen[3] as never),
  },
  'the feed showed an event that is not there': {
    promise: 'G43',
    tell: (story) => story.seen.push({ eventId: '99', actionId: '1', type: 'LATE' }),
  },
  'the feed showed what follows before CREATED': {
    promise: 'G43',
    tell: (story) => story.seen.push(story.seen.shift() as never),
  },
};

test.each(Object.entries(LIES))('%s: detected', (_what, { promise, tell }) => {
  const story = tellStory();
  tell(story);
  expect(check(story)).toContain(promise);
});
