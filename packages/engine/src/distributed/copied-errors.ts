/**
 * A distributed database inserts the rows of a select by copying them to the tenant's server, and passes on the words of
 * what that server refuses, but not its code. Callers go by the code.
 */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/^duplicate key value violates unique constraint /, '23505'],
  [/ violates foreign key constraint /, '23503'],
  [/^null value in column .* violates not-null constraint/, '23502'],
  [/ violates check constraint /, '23514'],
  [/^canceling statement due to lock timeout/, '55P03'],
  [/^no partition of relation .* found for row/, '23514'],
];
/** internal_error */
const UNKNOWN = 'XX000';

/** Gives the error its code. */
export function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== UNKNOWN) return error;
  const code = CODES.find(([words]) => words.test(error.message))?.[1];
  return code === undefined ? error : Object.assign(error, { code });
}
