import type { Schedule } from '@muster/contracts';

/**
 * A schedule in words. Common cron patterns become a sentence; a pattern that is not understood completely is shown as
 * it is written, because a sentence that is nearly right would be worse.
 */
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

export function scheduleText(schedule: Schedule): string {
  if ('at' in schedule) return `Once, at ${new Date(schedule.at).toISOString()}`;
  if ('beforeExpiryDays' in schedule)
    return schedule.beforeExpiryDays === 0
      ? 'When a device expires'
      : `${schedule.beforeExpiryDays} ${plural(schedule.beforeExpiryDays, 'day')} before a device expires`;
  const zone = schedule.timezone ?? 'UTC';
  return `${cronText(schedule.cron) ?? `By the cron pattern ${schedule.cron}`}, ${zone}`;
}

function cronText(cron: string): string | null {
  const fields = cron.trim().toUpperCase().split(/\s+/);
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] =
    fields.length === 5 ? ['0', ...fields] : fields;
  const time = timeText(second, minute, hour);
  const days = daysText(day, month, weekday);
  if (time === null || days === null) return null;
  if (time.isPoint) return `${days === '' ? 'Every day' : days} at ${time.text}`;
  return days === '' ? time.text : `${time.text}, ${lower(days)}`;
}

/** When within a day; a single moment is shown as a time of the clock. */
function timeText(
  second: string,
  minute: string,
  hour: string,
): { readonly text: string; readonly isPoint: boolean } | null {
  const every = (text: string) => ({ text, isPoint: false });
  if (minute === '*' && hour === '*') {
    if (second === '*') return every('Every second');
    if (second === '0') return every('Every minute');
    const step = stepOf(second);
    return step ? every(`Every ${step} seconds`) : null;
  }
  if (second !== '0') return null;
  if (hour === '*') {
    const step = stepOf(minute);
    if (step) return every(`Every ${step} minutes`);
    const minutes = numbersOf(minute);
    if (!minutes) return null;
    return every(
      minutes.length === 1 && minutes[0] === 0
        ? 'Every hour'
        : `Every hour at minute ${listed(minutes.map(String))}`,
    );
  }
  const minutes = numbersOf(minute);
  if (minutes?.length !== 1) return null;
  const step = stepOf(hour, 24);
  if (step)
    return every(minutes[0] === 0 ? `Every ${step} hours` : `Every ${step} hours at minute ${minutes[0]}`);
  const hours = numbersOf(hour);
  if (!hours) return null;
  return { text: listed(hours.map((one) => `${two(one)}:${two(minutes[0] as number)}`)), isPoint: true };
}

/**
 * On which days: '' is all of them. With both a day of the month and a weekday, either is enough, which has no sentence
 * here.
 */
function daysText(day: string, month: string, weekday: string): string | null {
  const months = month === '*' ? '' : namesOf(month, MONTHS, 1);
  if (months === null || (day !== '*' && weekday !== '*')) return null;
  const inMonths = months === '' ? '' : ` in ${months}`;
  if (weekday !== '*') {
    if (/^(1-5|MON-FRI)$/.test(weekday)) return `On weekdays${inMonths}`;
    const days = namesOf(weekday, DAYS, 0);
    return days === null ? null : `${days.includes(' to ') ? 'From' : 'Every'} ${days}${inMonths}`;
  }
  if (day === '*') return months === '' ? '' : `Every day${inMonths}`;
  if (day === 'L') return `On the last day of ${months === '' ? 'every month' : months}`;
  const days = numbersOf(day);
  return days === null
    ? null
    : `On day ${listed(days.map(String))} of ${months === '' ? 'every month' : months}`;
}

// For "every fifth"; a step that does not divide the whole would not be even.
function stepOf(field: string, whole = 60): number | null {
  const [, step] = /^(?:\*|0)\/(\d+)$/.exec(field) ?? [];
  const number = Number(step);
  return step && number > 1 && whole % number === 0 ? number : null;
}

function numbersOf(field: string): number[] | null {
  return /^\d+(,\d+)*$/.test(field) && field.split(',').length <= 6 ? field.split(',').map(Number) : null;
}

function namesOf(field: string, names: readonly string[], first: number): string | null {
  const nameOf = (part: string) => {
    // among weekdays, 7 is Sunday too
    const number = /^\d+$/.test(part)
      ? names.length === 7
        ? Number(part) % 7
        : Number(part) - first
      : names.findIndex((name) => name.slice(0, 3).toUpperCase() === part);
    return names[number];
  };
  const parts = field.split(',').map((part) => {
    const ends = part.split('-').map(nameOf);
    if (ends.length > 2 || ends.includes(undefined) || (ends.length === 2 && ends[0] === ends[1]))
      return undefined;
    return ends.join(' to ');
  });
  return parts.every((part) => part !== undefined) ? listed(parts) : null;
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

const two = (number: number) => String(number).padStart(2, '0');
const plural = (count: number, noun: string) => (count === 1 ? noun : `${noun}s`);
const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
