import { expect, test } from 'vitest';
import { dueTimes, firstTime } from '../src/features/workflows/schedule.ts';
import { scheduleText } from '../src/features/workflows/schedule-text.ts';

const at = (text: string) => new Date(text);
const iso = (dates: readonly Date[]) => dates.map((date) => date.toISOString());
const NO_CRON =
  /^schedule.cron is not a cron pattern of five fields, or six with seconds first, such as "0 3 \* \* \*"\.$/;
const daily = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };

test('daylight saving: a skipped time comes at the end of the gap, a repeated one comes once', () => {
  const times: string[] = [];
  // the clock goes forward on 29 March 2026 at 02:00 and back on 25 October 2026 at 03:00
  for (const [from, to] of [
    ['2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z'],
    ['2026-10-23T12:00:00Z', '2026-10-26T12:00:00Z'],
  ] as const) {
    const first = firstTime(daily, at(from));
    times.push(...iso(dueTimes(daily, 'all', first, at(to)).times));
  }
  expect(times).toEqual([
    '2026-03-28T01:30:00.000Z', // 02:30 in winter
    '2026-03-29T01:00:00.000Z', // 02:30 does not exist: 03:00 in summer
    '2026-03-30T00:30:00.000Z',
    '2026-10-24T00:30:00.000Z',
    '2026-10-25T00:30:00.000Z', // the first of the two 02:30
    '2026-10-26T01:30:00.000Z',
  ]);
});

test('missed times are dropped, caught up once, or all caught up', () => {
  const hourly = { cron: '0 * * * *' };
  const [nextAt, now] = [at('2026-03-01T10:00:00Z'), at('2026-03-01T13:20:00Z')];
  const next = at('2026-03-01T14:00:00Z');
  const last = at('2026-03-01T13:00:00Z');
  expect(dueTimes(hourly, 'none', nextAt, now)).toEqual({ times: [], missed: last, next });
  expect(dueTimes(hourly, 'one', nextAt, now)).toEqual({ times: [last], missed: null, next });
  expect(iso(dueTimes(hourly, 'all', nextAt, now).times)).toEqual(
    ['10', '11', '12', '13'].map((hour) => `2026-03-01T${hour}:00:00.000Z`),
  );
  // a minute late is not missed
  const late = at('2026-03-01T10:00:59Z');
  expect(dueTimes(hourly, 'none', nextAt, late).times).toEqual([nextAt]);
});

test('years of a schedule that comes every second are caught up without counting every time', () => {
  const [nextAt, now] = [at('2020-01-01T00:00:00Z'), at('2026-03-01T00:00:30.500Z')];
  const every = { cron: '* * * * * *' };
  expect(dueTimes(every, 'one', nextAt, now).times).toHaveLength(60);
  const yearly = { cron: '0 0 1 1 *' };
  expect(iso(dueTimes(yearly, 'one', nextAt, now).times)).toEqual(['2026-01-01T00:00:00.000Z']);
  const all = dueTimes(every, 'all', nextAt, now);
  expect(all.times).toHaveLength(1_000);
  expect(all.next).toEqual(new Date(nextAt.getTime() + 1_000_000));
});

test('a schedule that cannot be parsed or never comes due is refused with a sentence', () => {
  const now = at('2026-03-01T00:00:00Z');
  for (const [schedule, sentence] of [
    [{ cron: 'every day' }, NO_CRON],
    [{ cron: '0 0 25 * * *' }, NO_CRON],
    [{ cron: '61 3 * * *' }, NO_CRON],
    [{ cron: 'timezone 3 * * *' }, NO_CRON],
    [{ cron: '0 0 3 * * * 2030' }, NO_CRON],
    [{ cron: '0 3 * *' }, NO_CRON],
    [{ cron: '@daily' }, NO_CRON],
    [{ cron: '2030-01-01T00:00:00' }, NO_CRON],
    [{ cron: ' ' }, NO_CRON],
    [{ cron: '0 0 31 2 *' }, /never comes/],
    [{ cron: '0 0 * * *', timezone: 'Berlin' }, /^schedule.timezone is not a time zone/],
    [{ at: '2026-02-28T00:00:00Z' }, /in the past/],
  ] as const)
    expect(() => firstTime(schedule, now)).toThrow(sentence);
});

test('five fields and six are accepted, with any whitespace; a stored one with seven still works', () => {
  const now = at('2026-03-01T00:00:00Z');
  for (const cron of ['0 3 * * *', '0 0 3 * * *', '  0\t3 *  * * ', '0 3 * * MON-SUN', '0 3 * JAN-DEC ?'])
    expect(firstTime({ cron }, now)).toEqual(at('2026-03-01T03:00:00Z'));
  const next = at('2026-03-01T03:00:00Z');
  expect(dueTimes({ cron: '0 0 3 * * * 2026-2027' }, 'one', next, next).times).toEqual([next]);
});

test.each([
  ['0 3 * * *', 'Every day at 03:00, UTC'],
  ['30 2,14 * * *', 'Every day at 02:30 and 14:30, UTC'],
  ['0 4 * * 1-5', 'On weekdays at 04:00, UTC'],
  ['0 4 * * SUN,6', 'Every Sunday and Saturday at 04:00, UTC'],
  ['0 4 * * 1-6', 'From Monday to Saturday at 04:00, UTC'],
  ['0 4 1 6-8 *', 'On day 1 of June to August at 04:00, UTC'],
  ['0 4 * * 0-7', 'By the cron pattern 0 4 * * 0-7, UTC'],
  ['0 4 * * 7', 'Every Sunday at 04:00, UTC'],
  ['15 6 1,15 * *', 'On day 1 and 15 of every month at 06:15, UTC'],
  ['15 6 L 2 *', 'On the last day of February at 06:15, UTC'],
  ['0 0 * 12 *', 'Every day in December at 00:00, UTC'],
  ['*/5 * * * *', 'Every 5 minutes, UTC'],
  ['*/20 * * * * *', 'Every 20 seconds, UTC'],
  ['0 * * * *', 'Every hour, UTC'],
  ['10,40 * * * *', 'Every hour at minute 10 and 40, UTC'],
  ['0 */6 * * *', 'Every 6 hours, UTC'],
  ['*/5 * * * MON', 'Every 5 minutes, every Monday, UTC'],
  // a pattern that is not fully understood is shown unchanged
  ['*/7 * * * *', 'By the cron pattern */7 * * * *, UTC'],
  ['0 */15 * * *', 'By the cron pattern 0 */15 * * *, UTC'],
  ['0 4 1 * 1', 'By the cron pattern 0 4 1 * 1, UTC'],
  ['0 4 * * 5#2', 'By the cron pattern 0 4 * * 5#2, UTC'],
])('%s in words', (cron, text) => {
  expect(scheduleText({ cron })).toBe(text);
});

test('other schedules in words', () => {
  expect(scheduleText(daily)).toBe('Every day at 02:30, Europe/Berlin');
  expect(scheduleText({ at: '2026-03-01T10:00:00+01:00' })).toBe('Once, at 2026-03-01T09:00:00.000Z');
  expect(scheduleText({ beforeExpiryDays: 7 })).toBe('7 days before a device expires');
  expect(scheduleText({ beforeExpiryDays: 0 })).toBe('When a device expires');
});
