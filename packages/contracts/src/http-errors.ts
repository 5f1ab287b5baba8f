import type { ErrorCatalogue } from './error-catalogue.ts';

/** What can go wrong before a request reaches a feature, and what all of them refuse alike. */
export const HTTP_ERRORS = {
  MUSTER_BAD_BODY: {
    status: 400,
    meaning: 'A field of the body is missing, unknown or has a wrong value. The sentence names it.',
  },
  MUSTER_BAD_CONTENT_TYPE: {
    status: 400,
    meaning:
      'A body must be JSON, sent as application/json; where another type is wanted, the sentence names it.',
  },
  MUSTER_BAD_EXPECTATION: {
    status: 417,
    meaning: 'The header Expect asks for something else than 100-continue.',
  },
  MUSTER_BAD_HEADER: { status: 400, meaning: 'A header has a wrong value. The sentence names it.' },
  MUSTER_BAD_JSON: {
    status: 400,
    meaning: 'The body is not JSON, not UTF-8, nested deeper than 64 levels, or has a field "__proto__".',
  },
  MUSTER_BAD_PATH: {
    status: 400,
    meaning: 'A part of the path cannot be decoded, is too long or has control characters.',
  },
  MUSTER_BAD_QUERY: {
    status: 400,
    meaning: 'A query parameter is missing, unknown or has a wrong value. The sentence names it.',
  },
  MUSTER_BAD_REQUEST: { status: 400, meaning: 'What arrived is not a request that HTTP allows.' },
  MUSTER_CROSS_SITE: {
    status: 403,
    meaning:
      'A request with a cookie must come from our own pages, and a change must be JSON or have the header Muster-Tenant.',
  },
  MUSTER_DATABASE_AWAY: {
    status: 503,
    meaning: 'The database does not answer. Nothing was changed as far as is known; try again.',
  },
  MUSTER_DATABASE_SLOW: {
    status: 503,
    meaning:
      'The database took longer than a request may wait, and undid what it had begun: nothing was changed.',
  },
  MUSTER_FINISHED: {
    status: 409,
    meaning:
      'The action, the task or the batch has ended, so this cannot be done to it any more. The sentence says how it ended.',
  },
  MUSTER_FORBIDDEN: {
    status: 403,
    meaning: 'The token is good, but its kind or role does not allow this request.',
  },
  MUSTER_HEADERS_TOO_LARGE: {
    status: 431,
    meaning: 'The head of the request is larger than 16 KiB. The connection is closed.',
  },
  MUSTER_INTERNAL: {
    status: 500,
    meaning: 'A fault of the server. Its log has the details under the request id of the sentence.',
  },
  MUSTER_PATH_TOO_LONG: {
    status: 414,
    meaning: 'A part of the path is longer than any name or id can be.',
  },
  MUSTER_TOO_LARGE: {
    status: 413,
    meaning:
      'The body is above 1 MiB (16 MiB for a batch), or the result or the error of a report is above 64 KiB. Keep large output elsewhere and report where.',
  },
  MUSTER_TOO_MANY_FAILURES: {
    status: 429,
    meaning:
      'The token is unknown or revoked, and too many such tokens came from this address (MUSTER_FAILED_SIGN_INS_PER_MINUTE). Valid ones are let in meanwhile.',
  },
  MUSTER_TOO_SLOW: {
    status: 408,
    meaning:
      'The head of the request did not arrive within 10 s, or its body not within 30 s of it. Nothing was done; the connection is closed.',
  },
  MUSTER_UNAUTHORIZED: {
    status: 401,
    meaning: 'There is no token, or the token is unknown or revoked. Send "Authorization: Bearer <token>".',
  },
  MUSTER_UNKNOWN_ROUTE: { status: 404, meaning: 'There is nothing under this path.' },
  MUSTER_WRONG_METHOD: {
    status: 405,
    meaning: 'The path exists, but not with this method. The Allow header names those it has.',
  },
} as const satisfies ErrorCatalogue;
