import type { Schedule } from '@muster/contracts';
import { Cron } from 'croner';
import { workflowError } from './errors.ts';

/**
 * When a workflow is due. Croner handles time zones and daylight saving: a time skipped by a clock change comes at the
 * end of the gap, a repeated one comes once.
 */
export type CatchUp = 'none' | 'one' | 'all';

/** Up to this late a time does not count as missed: a restart of the server is no reason. */
export const MISSED_AFTER_MS = 60_000;
/** How often a workflow by expiry looks for devices. */
const LOOK_EVERY_MS = 60_000;
const MOST_TIMES = 1_000;
/** The last of very many times is searched in growing windows. */
const WINDOWS_MS = [60_000, 3_600_000, 86_400_000, 31 * 86_400_000];

export interface Due {
  /** To be run, oldest first. */
  readonly times: readonly Date[];
  /** The last time that is not caught up. */
  readonly missed: Date | null;
  /** When to look again; null: never. */
  readonly next: Date | null;
}

/** The first time after `now`. Throws if the schedule is invalid or never due. */
export function firstTime(schedule: Schedule, now: Date): Date {
  if ('beforeExpiryDays' in schedule) return now;
  if ('at' in schedule) {
    const at = new Date(schedule.at);
    if (at <= now) throw workflowError('MUSTER_BAD_SCHEDULE', 'schedule.at is in the past.');
    return at;
  }
  if (!isCron(schedule.cron)) throw badSchedule(schedule);
  const first = nextTime(schedule, now);
  if (!first) throw workflowError('MUSTER_BAD_SCHEDULE', 'schedule.cron never comes due.');
  return first;
}

/** What is due now, for a workflow whose next look was planned for `nextAt`. */
export function dueTimes(schedule: Schedule, catchUp: CatchUp, nextAt: Date, now: Date): Due {
  if ('beforeExpiryDays' in schedule)
    return { times: [now], missed: null, next: new Date(now.getTime() + LOOK_EVERY_MS) };
  if ('at' in schedule) return sift([nextAt], catchUp, now, null);
  if (catchUp === 'all') {
    const times = timesBetween(schedule, nextAt, now, MOST_TIMES);
    const last = times.at(-1) as Date;
    return { times, missed: null, next: nextTime(schedule, last) };
  }
  return sift(latestTimes(schedule, nextAt, now), catchUp, now, nextTime(schedule, now));
}

function sift(times: readonly Date[], catchUp: CatchUp, now: Date, next: Date | null): Due {
  const onTime = times.filter((at) => now.getTime() - at.getTime() <= MISSED_AFTER_MS);
  const last = times.at(-1);
  if (onTime.length > 0 || !last) return { times: onTime, missed: null, next };
  return catchUp === 'none' ? { times: [], missed: last, next } : { times: [last], missed: null, next };
}

function latestTimes(schedule: Schedule & { cron: string }, from: Date, now: Date): Date[] {
  for (const window of WINDOWS_MS) {
    const since = Math.max(from.getTime(), now.getTime() - window);
    const times = timesBetween(schedule, new Date(since), now, Number.POSITIVE_INFINITY);
    if (times.length > 0 || since === from.getTime()) return times;
  }
  return timesBetween(schedule, from, now, Number.POSITIVE_INFINITY);
}

/** Both included, oldest first. */
function timesBetween(schedule: Schedule & { cron: string }, from: Date, to: Date, most: number): Date[] {
  const times: Date[] = [];
  let at = nextTime(schedule, new Date(from.getTime() - 1));
  while (at && at <= to && times.length < most) {
    times.push(at);
    at = nextTime(schedule, at);
  }
  return times;
}

function nextTime(schedule: { cron: string; timezone?: string | undefined }, after: Date): Date | null {
  try {
    return new Cron(schedule.cron, { timezone: schedule.timezone ?? 'UTC', paused: true }).nextRun(after);
  } catch (error) {
    throw badSchedule(schedule, error);
  }
}

/** Croner would also accept seven fields, words such as @daily, and a single time. */
function isCron(text: string): boolean {
  return [5, 6].includes(text.trim().split(/\s+/).length);
}

function badSchedule({ timezone }: { timezone?: string | undefined }, cause?: unknown) {
  return workflowError(
    'MUSTER_BAD_SCHEDULE',
    isTimeZone(timezone)
      ? 'schedule.cron is not a cron pattern of five fields, or six with seconds first, such as "0 3 * * *".'
      : 'schedule.timezone is not a time zone such as Europe/Berlin.',
    { cause },
  );
}

function isTimeZone(name = 'UTC'): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
