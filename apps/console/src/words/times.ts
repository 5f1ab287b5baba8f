const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type Zone = 'local' | 'utc';

const two = (value: number) => String(value).padStart(2, '0');

/** 850 ms, 4.2 s, 3 min 20 s, 6 h 12 min, 2 d 4 h. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  const [big, bigUnit, small, smallUnit] =
    ms < HOUR
      ? [Math.floor(ms / MINUTE), 'min', Math.floor((ms % MINUTE) / SECOND), 's']
      : ms < DAY
        ? [Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'min']
        : [Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h'];
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** One unit only, for a table: 12 s, 4 min, 6 h, 3 d. */
export function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** 1:48, 1:02:10. Never negative. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3_600),
    Math.floor((seconds % 3_600) / 60),
    seconds % 60,
  ];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Relative up to a week; then the date. */
export function relative(at: number, now: number, zone: Zone): string {
  const passed = now - at;
  if (Math.abs(passed) > 7 * DAY) return day(at, zone);
  if (passed < -SECOND) return `in ${roughly(-passed)}`;
  return passed < 5 * SECOND ? 'just now' : `${roughly(passed)} ago`;
}

/** When something started: 03:12, or date and 03:12 if that was not today. */
export function moment(at: number, now: number, zone: Zone): string {
  const time = clock(at, zone).slice(0, 5);
  return day(at, zone) === day(now, zone) ? time : `${day(at, zone)} ${time}`;
}

/** 2026-11-16 03:12:44 UTC, or with the name of the local zone. */
export function exact(at: number, zone: Zone): string {
  return `${day(at, zone)} ${clock(at, zone)} ${zone === 'utc' ? 'UTC' : zoneName(at)}`;
}

export function clock(at: number, zone: Zone): string {
  const date = new Date(at);
  return zone === 'utc'
    ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
    : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function day(at: number, zone: Zone): string {
  const date = new Date(at);
  return zone === 'utc'
    ? `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
    : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function zoneName(at: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(at);
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? '';
}

/** For a field of the browser, which has no zone: 2026-11-16T03:12:44. */
export function fieldTime(at: number, zone: Zone): string {
  return `${day(at, zone)}T${clock(at, zone)}`;
}

export function readFieldTime(text: string, zone: Zone): number | undefined {
  const at = Date.parse(zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(at) ? undefined : at;
}
