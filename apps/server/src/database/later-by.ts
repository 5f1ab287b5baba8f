/**
 * SQL for `at` plus an interval, a day of 24 hours. The sum of both is not immutable, because it may depend on the time
 * zone, and where a statement writes to a row, a distributed database takes only what is.
 */
export const laterBy = (at: string, interval: string) =>
  `((${at} at time zone 'UTC') + ${interval}) at time zone 'UTC'`;
