import { NO_WRITABLE_HOST } from '@muster/engine';

/**
 * Tells whether an error means that the database is away or blocked, not that the request or the server is at fault.
 */

const CONNECTION_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // a unix socket that is gone
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: starting up
  '53300', // too_many_connections
  '25006', // read_only_sql_transaction: a standby answers
  '28P01', // invalid_password: changed while we run
  NO_WRITABLE_HOST,
]);

/** `pg` has no codes for these. */
const CONNECTION_MESSAGES =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|The embedded database has stopped|The server has become read-only|The listening session has ended|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;

/** 55P03 lock_not_available, 40P01 deadlock_detected, 40001 serialization_failure. */
const LOCK_ERRORS = new Set(['55P03', '40P01', '40001']);

/** 22 data, 54 limits such as nesting: the request has something that PostgreSQL cannot store. */
const DATA_CLASSES = new Set(['22', '54']);

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function isDatabaseAway(error: unknown): boolean {
  const code = codeOf(error);
  if (CONNECTION_ERRORS.has(code) || code.startsWith('08')) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return error instanceof Error && CONNECTION_MESSAGES.test(error.message);
}

/** query_canceled: the statement took longer than its connection allows, and was rolled back. */
export function isTooSlow(error: unknown): boolean {
  return codeOf(error) === '57014';
}

export function isLockFailure(error: unknown): boolean {
  return LOCK_ERRORS.has(codeOf(error));
}

export function isDataFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code.length === 5 && DATA_CLASSES.has(code.slice(0, 2));
}
