import type { ErrorCatalogue, ErrorEntry } from '@muster/contracts/words';

/**
 * Every error this server makes on purpose: a code that stays, a sentence for people, the HTTP status it becomes. The
 * catalogues are in the contracts, one per door; docs/errors.md is compared with all of them by a test.
 */
export class MusterError extends Error {
  readonly code: string;
  readonly status: number;
  /** Seconds; told to the client in Retry-After. */
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

/** All of them in one. A code that two declare stops the start: its page could tell of one of them only. */
export function joinCatalogues(catalogues: readonly ErrorCatalogue[]): ErrorCatalogue {
  const joined: Record<string, ErrorEntry> = {};
  for (const [code, entry] of catalogues.flatMap((catalogue) => Object.entries(catalogue))) {
    if (Object.hasOwn(joined, code)) throw new Error(`The error code ${code} is declared twice.`);
    joined[code] = entry;
  }
  return joined;
}
