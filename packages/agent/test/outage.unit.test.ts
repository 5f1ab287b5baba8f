import { expect, it, vi } from 'vitest';
import { elsewhereLog, readElsewhere } from '../src/elsewhere.ts';
import { duration, Outage } from '../src/outage.ts';
import { NoToken, ServerRefused } from '../src/requests.ts';

const away = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
const refused = (status: number, text: string) => new ServerRefused(status, 'X', text, 0);

/** An outage with the test's clock; each log line begins with the minute. */
function scene() {
  const said: string[] = [];
  const clock = { now: 0 };
  const log = (sentence: string) => void said.push(`${clock.now / 60_000}: ${sentence}`);
  return { said, clock, outage: new Outage({ info: log, warn: log }, 1, () => clock.now) };
}

it('logs once that the server is away, then at growing intervals, and once that it is back', () => {
  const { said, clock, outage } = scene();
  outage.answered();
  for (; clock.now < 11 * 60_000; clock.now += 20_000) outage.failed('a heartbeat', away);
  outage.failed('a heartbeat', refused(503, 'Not yet'));
  clock.now += 60_000;
  outage.failed('a request for work', refused(503, 'Not yet'));
  outage.answered();
  outage.answered();
  clock.now += 60_000;
  outage.failed('a heartbeat', away);
  expect(said).toEqual([
    '0: The server does not answer; trying again: connect ECONNREFUSED',
    '1: The server has not answered for 1 min: connect ECONNREFUSED',
    '3: The server has not answered for 3 min: connect ECONNREFUSED',
    '7: The server has not answered for 7 min: connect ECONNREFUSED',
    '11: The server answers a heartbeat with an error; trying again: Not yet (503)',
    '12: The server has answered with errors for 1 min, now a request for work: Not yet (503)',
    '12: The server answers again, after 12 min.',
    '13: The server does not answer; trying again: connect ECONNREFUSED',
  ]);
});

it('issue 11: does not fill the log when a server answers one loop and not another, or comes and goes', () => {
  const { said, clock, outage } = scene();
  for (; clock.now < 150_000; clock.now += 10_000) {
    outage.failed('a request for work', refused(500, 'Broken'));
    outage.failed('a heartbeat', away);
    clock.now += 5_000;
    outage.answered();
  }
  expect(said).toEqual([
    '0: The server answers a request for work with an error; trying again: Broken (500)',
    '0: The server does not answer; trying again: connect ECONNREFUSED',
    `${5 / 60}: The server answers again, after 5 s.`,
    '1: The server answers a request for work with an error; trying again: Broken (500)',
    '1: The server does not answer; trying again: connect ECONNREFUSED',
    `${65 / 60}: The server answers again, after 5 s.`,
    '2: The server answers a request for work with an error; trying again: Broken (500)',
    '2: The server does not answer; trying again: connect ECONNREFUSED',
    `${125 / 60}: The server answers again, after 5 s.`,
  ]);
});

it('issue 11: names a refused token, a missing token, and an invalid answer', () => {
  const { said, clock, outage } = scene();
  outage.failed('a heartbeat', refused(401, 'Unauthorized'));
  clock.now += 60_000;
  outage.failed('a heartbeat', new NoToken(new Error('The token cannot be read: ENOENT')));
  outage.answered();
  clock.now += 60_000;
  outage.failed('a heartbeat', new SyntaxError('Unexpected token <'));
  outage.failed('a heartbeat', new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  expect(said).toEqual([
    '0: The server rejects the token; trying again with the current content of its file: Unauthorized (401)',
    '1: There has been no token for 1 min; reading its file again: The token cannot be read: ENOENT',
    '1: The server accepts the token again, after 1 min.',
    '2: The response to a heartbeat is not valid; trying again: Unexpected token <',
    '2: The server does not answer; trying again: no answer came in time',
  ]);
});

it('issue 11: a wait ends with the first answer, but not sooner than the server has asked for', async () => {
  vi.useFakeTimers();
  const outage = new Outage({ info: () => {}, warn: () => {} }, 500);
  const over: string[] = [];
  const wait = (name: string, askedMs: number) =>
    void outage.pause(60_000, askedMs, new AbortController().signal).then(() => over.push(name));
  outage.failed('a heartbeat', away);
  wait('not asked for', 0);
  wait('asked for', 20_000);
  outage.answered();
  await vi.advanceTimersByTimeAsync(499);
  expect(over).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toEqual(['not asked for']);
  await vi.advanceTimersByTimeAsync(19_499);
  expect(over).toEqual(['not asked for']);
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toEqual(['not asked for', 'asked for']);
  vi.useRealTimers();
});

it('writes durations in two units', () => {
  expect([0, 59_600, 61_000, 3_600_000, 3_720_000, 90_061_000].map(duration)).toEqual([
    '0 s',
    '1 min',
    '1 min 1 s',
    '1 h',
    '1 h 2 min',
    '25 h 1 min',
  ]);
});

it('logs once per attempt that another instance holds it', () => {
  const said: string[] = [];
  const say = elsewhereLog((sentence) => void said.push(sentence), { noun: 'Action', program: 'agent' });
  const held = readElsewhere(
    'id=7, attempt=2, instance=4f-4f-4f-4f, since=2026-03-01T12:00:00.000Z, until=2026-03-01T12:05:00.000Z',
  );
  for (const one of [null, held, null, held]) say(one);
  expect(said).toEqual([
    'Action 7, attempt 2 is held elsewhere, since 2026-03-01T12:00:00.000Z: by the agent of another state folder (instance 4f-4f-4f-4f) with the same token. If it is not reported by 2026-03-01T12:05:00.000Z, the server may hand it out here. Give a second machine its own token; after a lost state folder, wait.',
  ]);
  expect(readElsewhere('id=7, nonsense')).toBe(null);
});
