import { MusterError } from '@muster/client';

/** What a script can go by. Anything unforeseen ends with 1. */
export const EXIT = {
  done: 0,
  unforeseen: 1,
  /** Wrong words, or no token. */
  usage: 2,
  /** The server has said no, with a code. */
  refused: 3,
  notFound: 4,
  /** Nobody answers, or the server cannot at the moment. */
  unavailable: 5,
  /** It was waited for, and did not succeed. */
  unsuccessful: 6,
} as const;

export class UsageError extends Error {}
/** What was named is not there. */
export class NotFoundError extends Error {}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (isUnanswered(error)) return EXIT.unavailable;
  if (!(error instanceof MusterError)) return EXIT.unforeseen;
  if (error.status === 404) return EXIT.notFound;
  return error.status >= 500 || error.status === 429 ? EXIT.unavailable : EXIT.refused;
}

/** `fetch` says no more than that it failed; why is in its cause. */
export const isUnanswered = (error: unknown): error is Error & { cause: Error } =>
  error instanceof TypeError && error.cause instanceof Error;
