import { expect, it } from 'vitest';
import { elsewhereLog, readElsewhere } from '../src/elsewhere.ts';
import { duration, Outage } from '../src/outage.ts';
import { ServerRefused } from '../src/requests.ts';

it('says once that the server is away, then at growing intervals, and once that it is back', () => {
  let now = 0;
  const said: string[] = [];
  const log = (sentence: string) => void said.push(`${now / 60_000}: ${sentence}`);
  const outage = new Outage({ info: log, warn: log }, () => now);
  const broken = new Error('fetch failed');
  outage.answered();
  for (; now < 11 * 60_000; now += 20_000) outage.failed('It was asked', broken);
  outage.failed('It was asked', new ServerRefused(503, null, 'Not yet', 0));
  outage.answered();
  outage.answered();
  now += 60_000;
  outage.failed('It was asked', broken);
  expect(said).toEqual([
    '0: It was asked: fetch failed',
    '1: It was asked, for 1 min now: fetch failed',
    '3: It was asked, for 3 min now: fetch failed',
    '7: It was asked, for 7 min now: fetch failed',
    '11: It was asked: Not yet (503)',
    '11: The server answers again, after 11 min.',
    '12: It was asked: fetch failed',
  ]);
  expect([0, 59_600, 61_000, 3_600_000, 3_720_000, 90_061_000].map(duration)).toEqual([
    '0 s',
    '1 min',
    '1 min 1 s',
    '1 h',
    '1 h 2 min',
    '25 h 1 min',
  ]);
});

it('says once of each attempt that another instance holds it', () => {
  const said: string[] = [];
  const say = elsewhereLog((sentence) => void said.push(sentence), 'Action');
  const held = readElsewhere(
    'id=7, attempt=2, instance=4f-4f-4f-4f, since=2026-03-01T12:00:00.000Z, until=2026-03-01T12:05:00.000Z',
  );
  for (const one of [null, held, null, held]) say(one);
  expect(said).toEqual([
    'Action 7, attempt 2 is held since 2026-03-01T12:00:00.000Z by another one (instance 4f-4f-4f-4f) that uses the same token, and is not given to this one before 2026-03-01T12:05:00.000Z. Two state folders, as of a cloned machine, need two tokens.',
  ]);
  expect(readElsewhere('id=7, nonsense')).toBe(null);
});
