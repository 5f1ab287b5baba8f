/** Times that both PostgreSQL and Date can hold, with room for days that are added to them. */
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(9000, 0, 1);

export const IN_RANGE = 'a time from 1970 to 8999, such as 2026-03-01T12:00:00Z';

/** For a text in the form of a time. */
export function isInRange(text: string): boolean {
  const at = Date.parse(text);
  return at >= EARLIEST && at < LATEST;
}
