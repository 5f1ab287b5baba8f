import type { ErrorCatalogue, ErrorEntry } from '@muster/contracts/words';

/**
 * An expected error of this server: a stable code, a sentence for people, an HTTP status. The catalogues are in the
 * contracts, one per door; a test compares docs/errors.md with all of them.
 */
export class MusterError extends Error {
  readonly code: string;
  readonly status: number;
  /** Seconds; sent to the client as Retry-After. */
  readonly retryAfter: number | undefined;

  constructor(
    code: string,
    status: number,
    message: string,
    options: { cause?: unknown; retryAfter?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MusterError';
    this.code = code;
    this.status = status;
    this.retryAfter = options.retryAfter;
  }
}

/** `const refuse = errorsOf(CATALOGUE)`, then `throw refuse('MUSTER_…', 'A sentence.')`. */
export function errorsOf<C extends ErrorCatalogue>(catalogue: C) {
  return (
    code: keyof C & string,
    message: string,
    options?: { cause?: unknown; retryAfter?: number },
  ): MusterError => new MusterError(code, (catalogue[code] as ErrorEntry).status, message, options);
}

/** Joins catalogues. A code declared twice stops the start: its documentation could describe only one of them. */
export function joinCatalogues(catalogues: readonly ErrorCatalogue[]): ErrorCatalogue {
  const joined: Record<string, ErrorEntry> = {};
  for (const [code, entry] of catalogues.flatMap((catalogue) => Object.entries(catalogue))) {
    if (Object.hasOwn(joined, code)) throw new Error(`The error code ${code} is declared twice.`);
    joined[code] = entry;
  }
  return joined;
}
