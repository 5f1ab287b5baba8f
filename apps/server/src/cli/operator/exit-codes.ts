import { MusterError } from '@muster/client';
import { MusterError as Refusal } from '../../errors.ts';

/** Exit codes for scripts. Unexpected errors end with 1. */
export const EXIT = {
  done: 0,
  unforeseen: 1,
  /** Invalid arguments, or no token. */
  usage: 2,
  /** The server refused the request, with a code. */
  refused: 3,
  notFound: 4,
  /** No answer, or the server is unavailable at the moment. */
  unavailable: 5,
  /** The command waited for the end, which was not a success. */
  unsuccessful: 6,
} as const;

export class UsageError extends Error {}
/** The named thing does not exist. */
export class NotFoundError extends Error {}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (isUnanswered(error)) return EXIT.unavailable;
  // over HTTP, or of a command that works on the installation itself
  if (!(error instanceof MusterError || error instanceof Refusal)) return EXIT.unforeseen;
  if (error.status === 404) return EXIT.notFound;
  return error.status >= 500 || error.status === 429 ? EXIT.unavailable : EXIT.refused;
}

/** `fetch` only says that it failed; the reason is in its cause. */
export const isUnanswered = (error: unknown): error is Error & { cause: Error } =>
  error instanceof TypeError && error.cause instanceof Error;
