import { hostError } from './errors.ts';

/**
 * `max` and `wait` of a poll, read strictly: anything but a whole number in range is refused, never rounded or ignored.
 */
export const MOST_ACTIONS = 10;
export const LONGEST_WAIT = 25;

export interface PollParameters {
  readonly max: number;
  readonly wait: number;
}

export function readPoll(query: { max?: unknown; wait?: unknown }): PollParameters {
  return { max: readMax(query.max), wait: readWait(query.wait) };
}

function readMax(value: unknown): number {
  const max = wholeNumber(value, 1);
  if (max === null || max < 1 || max > MOST_ACTIONS)
    throw hostError('MUSTER_BAD_MAX', 'Max parameter must be between 1 and 10');
  return max;
}

function readWait(value: unknown): number {
  const wait = wholeNumber(value, 0);
  if (wait === null || wait > LONGEST_WAIT)
    throw hostError('MUSTER_BAD_WAIT', 'Wait parameter must be between 0 and 25 seconds');
  return wait;
}

/** Text from the query, or a number from a body. A repeated parameter is a list, so not a number. */
function wholeNumber(value: unknown, ifMissing: number): number | null {
  if (value === undefined) return ifMissing;
  if (typeof value === 'number') return Number.isInteger(value) && value >= 0 ? value : null;
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : null;
}
