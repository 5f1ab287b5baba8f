import { EngineError } from './errors.ts';

/** What PostgreSQL's error codes mean for a gathered statement. */
const LOCK_ERRORS = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available: an open transaction has an uncommitted key
]);

/**
 * The fault of one row, not of the connection: two rows for one (21), data (22), constraints (23), limits such as
 * nesting depth (54), errors raised by an effect's function or a trigger (P0).
 */
const DATA_CLASSES = new Set(['21', '22', '23', '54', 'P0']);

export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function isLockError(error: unknown): boolean {
  return LOCK_ERRORS.has(codeOf(error));
}

export function isDataError(error: unknown): boolean {
  return DATA_CLASSES.has(codeOf(error).slice(0, 2));
}

/**
 * check_violation of the partitioned table itself: no partition for that time, which is '' if the database does not say
 * it.
 */
export function missingDay(error: unknown): string | null {
  if (!(error instanceof Error) || codeOf(error) !== '23514') return null;
  if (!error.message.includes('no partition of relation')) return null;
  const detail = 'detail' in error ? String(error.detail) : '';
  return /\(at\) = \(([^)]+)\)/.exec(detail)?.[1] ?? '';
}

/** undefined_table */
export function isMissingTable(error: unknown): boolean {
  return codeOf(error) === '42P01';
}

/** The session was ended from outside, perhaps after the commit and before the answer. */
const ENDED = new Set(['57P01', '57P02', '57P05']);
/** None of several hosts accepts writes. */
export const NO_WRITABLE_HOST = 'MUSTER_NO_WRITABLE_HOST';
/** `pg`, the system and `Primary` report these before anything was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', NO_WRITABLE_HOST]);

/** read_only_sql_transaction: a standby, or a server that is told not to write. */
export const isReadOnlyServer = (error: unknown): boolean => codeOf(error) === '25006';

/** What was sent may have been carried out, or may still be: the server did not say. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof EngineError) return false;
  const code = codeOf(error);
  if ('severity' in error) return ENDED.has(code) || code.startsWith('08');
  return !NOT_SENT.has(code) && !error.message.startsWith('timeout exceeded when trying to connect');
}
