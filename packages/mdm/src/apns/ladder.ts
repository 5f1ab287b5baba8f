/** When to push again. A push carries no content and APNs keeps it, so waiting costs little and haste gains nothing. */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const STEPS = [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 30 * MINUTE];
const DAILY = 24 * 60 * MINUTE;

/**
 * How long after push number n (from 1) the next one goes out if the device has not come: 30 s, 2, 8, 30 min, then
 * daily, spread by a tenth so that devices that were pushed together do not stay together.
 */
export function nextPushInMs(pushes: number, random: () => number = Math.random): number {
  return Math.round((STEPS[Math.max(1, pushes) - 1] ?? DAILY) * (0.9 + 0.2 * random()));
}

/**
 * How long to wait before retrying this push after this many `again` in a row: 1 s doubled up to 5 min, or what APNs
 * asked for.
 */
export function nextTryInMs(
  failures: number,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number {
  const wait = Math.min(5 * MINUTE, SECOND * 2 ** Math.min(20, Math.max(0, failures - 1)));
  return Math.max(retryAfterMs ?? 0, Math.round(wait * (0.5 + random() / 2)));
}
