/** What PostgreSQL's error codes mean for a gathered statement. */
const LOCK_ERRORS = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available: somebody's open transaction has an uncommitted key
]);

/** One row's fault, not the connection's: data (22), constraints (23), limits such as nesting depth (54). */
const DATA_CLASSES = new Set(['22', '23', '54']);

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function isLockError(error: unknown): boolean {
  return LOCK_ERRORS.has(codeOf(error));
}

export function isDataError(error: unknown): boolean {
  return DATA_CLASSES.has(codeOf(error).slice(0, 2));
}

/** check_violation of the partitioned table itself: no partition for that day. */
export function isMissingDay(error: unknown): boolean {
  return (
    codeOf(error) === '23514' && error instanceof Error && error.message.includes('no partition of relation')
  );
}

/** undefined_table */
export function isMissingTable(error: unknown): boolean {
  return codeOf(error) === '42P01';
}
