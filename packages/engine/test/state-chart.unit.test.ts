import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  type ActionState,
  EVENT_TYPES,
  type EventType,
  eventName,
  replay,
  TRANSITIONS,
} from '../src/action.ts';

const file = fileURLToPath(new URL('../../../docs/concepts.md', import.meta.url));
const CHART = /(?<=<!-- state chart -->\n)[\s\S]*(?=<!-- end of state chart -->)/;

function chart(): string {
  const arrows = new Map<string, string[]>();
  for (const [from, row] of Object.entries(TRANSITIONS))
    for (const [event, to] of Object.entries(row)) {
      if (to === null || to === from) continue;
      const arrow = `${from === 'none' ? '[*]' : from} --> ${to}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), event]);
    }
  const ends = ['succeeded', 'failed', 'cancelled', 'expired'].map((state) => `    ${state} --> [*]`);
  const lines = [...arrows].map(([arrow, events]) => `    ${arrow}: ${events.join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, ...ends, '```', ''].join('\n');
}

test('the state chart of docs/concepts.md equals the table of transitions', () => {
  expect(CHART.exec(readFileSync(file, 'utf8'))?.[0]).toBe(chart());
});

describe('G1: replaying events gives the state', () => {
  test.each<[EventType[], ActionState]>([
    [['CREATED'], 'pending'],
    [['CREATED', 'SENT'], 'claimed'],
    [['CREATED', 'SENT', 'REDELIVERED', 'ACKED', 'EXTENDED', 'LATE'], 'claimed'],
    [['CREATED', 'SENT', 'SUCCEEDED'], 'succeeded'],
    [['CREATED', 'SENT', 'SUCCEEDED', 'LATE'], 'succeeded'],
    [['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED'], 'pending'],
    [['CREATED', 'SENT', 'FAILED', 'FAILED_FINAL'], 'failed'],
    [['CREATED', 'SENT', 'TIMEOUT', 'FAILED_FINAL', 'SUCCEEDED'], 'succeeded'],
    [['CREATED', 'SENT', 'FAILED', 'FAILED_FINAL', 'REDRIVEN', 'SENT'], 'claimed'],
    [['CREATED', 'SENT', 'CANCEL_REQUESTED', 'TIMEOUT', 'CANCELLED'], 'cancelled'],
    [['CREATED', 'SENT', 'CANCELLED'], 'cancelled'],
    [['CREATED', 'MOVED', 'SUPERSEDED'], 'cancelled'],
    [['CREATED', 'MADE_DUE', 'SENT'], 'claimed'],
    [['CREATED', 'EXPIRED'], 'expired'],
  ])('G1: %j leads to %s', (types, state) => {
    expect(replay(types.map((type) => ({ type })))).toBe(state);
  });

  test.each<EventType[]>([
    ['SENT'],
    ['CREATED', 'CREATED'],
    ['CREATED', 'FAILED'],
    ['CREATED', 'SENT', 'SENT'],
    ['CREATED', 'SENT', 'EXPIRED'],
    ['CREATED', 'SENT', 'SUCCEEDED', 'SENT'],
    ['CREATED', 'SENT', 'SUCCEEDED', 'REDRIVEN'],
    ['CREATED', 'CANCELLED', 'REDRIVEN'],
    ['CREATED', 'EXPIRED', 'SUCCEEDED'],
  ])('G1: an impossible history is refused: %s %s %s', (...types) => {
    const given = types.filter((type): type is EventType => type in EVENT_TYPES);
    expect(() => replay(given.map((type) => ({ type })))).toThrow('cannot follow');
  });

  test('an action without events has no state', () => {
    expect(() => replay([])).toThrow('has no state');
  });
});

test('event numbers are stored and never change', () => {
  expect(Object.entries(EVENT_TYPES).map(([name, number]) => `${number} ${name}`)).toEqual([
    ...[
      '1 CREATED',
      '2 SENT',
      '3 REDELIVERED',
      '4 ACKED',
      '5 EXTENDED',
      '6 SUCCEEDED',
      '7 FAILED',
      '8 TIMEOUT',
    ],
    ...['9 RETRY_SCHEDULED', '10 FAILED_FINAL', '11 NOT_NOW', '12 RELEASED', '13 LATE', '14 SUPERSEDED'],
    ...[
      '15 CANCEL_REQUESTED',
      '16 CANCELLED',
      '17 EXPIRED',
      '18 REDRIVEN',
      '19 MOVED',
      '20 NOTED',
      '21 MADE_DUE',
    ],
  ]);
  expect(eventName(13)).toBe('LATE');
  expect(() => eventName(99)).toThrow('Unknown event type 99');
});
