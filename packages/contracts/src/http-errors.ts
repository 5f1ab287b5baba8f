import type { ErrorCatalogue } from './error-catalogue.ts';

/** What can go wrong before a request reaches a feature, and refusals that all features share. */
export const HTTP_ERRORS = {
  MUSTER_BAD_BODY: {
    status: 400,
    meaning: 'A field of the body is missing, unknown or invalid. The message names it.',
  },
  MUSTER_BAD_CONTENT_TYPE: {
    status: 400,
    meaning:
      'The body must be JSON, sent as application/json. If another type is expected, the message names it.',
  },
  MUSTER_BAD_EXPECTATION: {
    status: 417,
    meaning: 'The header Expect has a value other than 100-continue.',
  },
  MUSTER_BAD_HEADER: { status: 400, meaning: 'A header is invalid. The message names it.' },
  MUSTER_BAD_JSON: {
    status: 400,
    meaning:
      'The body is not valid JSON or UTF-8, is nested deeper than 64 levels, or has a field "__proto__".',
  },
  MUSTER_BAD_PATH: {
    status: 400,
    meaning: 'Part of the path cannot be decoded, is too long or contains control characters.',
  },
  MUSTER_BAD_QUERY: {
    status: 400,
    meaning: 'A query parameter is missing, unknown or invalid. The message names it.',
  },
  MUSTER_BAD_REQUEST: { status: 400, meaning: 'This is not a valid HTTP request.' },
  MUSTER_CROSS_SITE: {
    status: 403,
    meaning:
      'A request with a cookie must come from the console itself, and a change must be JSON or have the header Muster-Tenant.',
  },
  MUSTER_DATABASE_AWAY: {
    status: 503,
    meaning:
      'The database cannot be reached, or does not answer a request that only reads. What failed was not carried out; try again.',
  },
  MUSTER_DATABASE_SLOW: {
    status: 503,
    meaning: 'The database took too long and rolled the request back. Nothing was changed.',
  },
  MUSTER_DRAINING: {
    status: 503,
    meaning:
      'Only of `/readyz`: the node was told to stop and finishes its requests. New ones belong to another node.',
  },
  MUSTER_FINISHED: {
    status: 409,
    meaning: 'The action, task or batch has already ended. The message says how.',
  },
  MUSTER_FORBIDDEN: {
    status: 403,
    meaning: 'The token is valid, but its kind or role does not allow this request.',
  },
  MUSTER_HEADERS_TOO_LARGE: {
    status: 431,
    meaning: 'The headers are larger than 64 KiB. The connection is closed.',
  },
  MUSTER_INTERNAL: {
    status: 500,
    meaning: 'A bug in the server. Its log has the details under the request id in the message.',
  },
  MUSTER_PATH_TOO_LONG: {
    status: 414,
    meaning: 'Part of the path is longer than any name or id can be.',
  },
  MUSTER_TOO_LARGE: {
    status: 413,
    meaning:
      'The body is larger than 1 MiB (16 MiB for a batch), or the result or error of a report is larger than 64 KiB. Store large output elsewhere and report its location.',
  },
  MUSTER_TOO_MANY_FAILURES: {
    status: 429,
    meaning:
      'The token is unknown or revoked, and this address has sent too many such tokens (MUSTER_FAILED_SIGN_INS_PER_MINUTE). Valid tokens are still accepted.',
  },
  MUSTER_TOO_SLOW: {
    status: 408,
    meaning:
      'The headers did not arrive within 10 s, or the body not within 30 s after them. Nothing was done; the connection is closed.',
  },
  MUSTER_UNAUTHORIZED: {
    status: 401,
    meaning: 'The token is missing, unknown or revoked. Send "Authorization: Bearer <token>".',
  },
  MUSTER_UNKNOWN_ROUTE: { status: 404, meaning: 'There is nothing at this path.' },
  MUSTER_WRONG_METHOD: {
    status: 405,
    meaning: 'This method is not allowed here. The Allow header lists those that are.',
  },
} as const satisfies ErrorCatalogue;
