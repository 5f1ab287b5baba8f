import { EngineError } from './errors.ts';
import { checkText } from './text.ts';

/**
 * Input is checked before it gets near a statement: a number or a text that the database refuses would fail a whole
 * gathered batch, and its error would mean nothing to the caller.
 */
const LARGEST_INT = 2_147_483_647;
/** Names and keys are in indexes, whose rows are limited to 2,704 bytes: three bytes per character at most. */
const LONGEST_NAME = 512;

/** Ids are opaque: an invalid one is simply unknown. */
export function isId(id: string): boolean {
  return typeof id === 'string' && /^[1-9]\d{0,17}$/.test(id);
}

export function checkWhole(value: number, name: string, from: number, to = LARGEST_INT): number {
  if (!Number.isInteger(value) || value < from || value > to)
    throw new EngineError('MUSTER_BAD_VALUE', `${name} must be a whole number from ${from} to ${to}.`);
  return value;
}

export const checkTenant = (tenantId: number) => checkWhole(tenantId, 'tenantId', 0);
export const checkLease = (leaseMs: number) => checkWhole(leaseMs, 'leaseMs', 1);

export function checkLane(laneId: string): string {
  if (!isId(laneId)) throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
  return laneId;
}

export function checkRunner(runnerId: string): string {
  if (!isId(runnerId)) throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
  return runnerId;
}

/** A short identifying text: a kind, a channel, a tag, a worker, a key. */
export function checkName(text: string, what: string, from = 1, to = LONGEST_NAME): string {
  if (typeof text !== 'string' || text.length < from || text.length > to)
    throw new EngineError('MUSTER_BAD_VALUE', `The ${what} must be a string of ${from} to ${to} characters.`);
  return checkText(text, what);
}

export function checkOneOf(value: string, what: string, known: readonly string[]): string {
  if (!known.includes(value))
    throw new EngineError('MUSTER_BAD_VALUE', `${what} must be one of ${known.join(', ')}.`);
  return value;
}

const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

export function checkTime(at: Date, name: string): Date {
  const ms = at instanceof Date ? at.getTime() : Number.NaN;
  if (!(ms >= EARLIEST && ms <= LATEST))
    throw new EngineError('MUSTER_BAD_VALUE', `${name} must be a time between the years 1 and 9999.`);
  return at;
}

/** Checks a value if there is one. */
export function ifGiven<T, R>(value: T | undefined, check: (value: T) => R): R | undefined {
  return value === undefined ? undefined : check(value);
}
