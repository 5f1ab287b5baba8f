import type { ErrorCatalogue } from './error-catalogue.ts';

/** The HTTP form of the engine's errors. The server does not compile if one is missing here. */
export const ENGINE_ERRORS = {
  MUSTER_BAD_TEXT: {
    status: 400,
    meaning: 'A text contains a character that cannot be stored: NUL, or half of a surrogate pair.',
  },
  MUSTER_BAD_VALUE: { status: 400, meaning: 'A value is invalid or out of range. The message names it.' },
  MUSTER_IDEMPOTENCY_MISMATCH: {
    status: 409,
    meaning: 'The Idempotency-Key was used before with another body. Nothing was queued.',
  },
  MUSTER_LANE_BUSY: {
    status: 503,
    meaning: 'Another transaction kept the lane locked for too long. Try again.',
  },
  MUSTER_LANE_FULL: {
    status: 409,
    meaning: 'The lane is full: it has as many unfinished actions as MUSTER_LANE_DEPTH_LIMIT allows.',
  },
  MUSTER_NO_ANSWER: {
    status: 503,
    meaning:
      'The database did not answer in time, or the connection broke. Unless the message says that the request was stored, its outcome is unknown: check, or repeat it with the same Idempotency-Key. Anything it claimed is released.',
  },
  MUSTER_OTHER_INCARNATION: {
    status: 410,
    meaning:
      'The database was restored after this cursor was issued, or the cursor is ahead of it. Read the event feed from the start.',
  },
  MUSTER_OUTSIDE_TRANSACTION: {
    status: 500,
    meaning: 'A bug in the server: a call was made outside its transaction.',
  },
  MUSTER_OVERLOADED: {
    status: 503,
    meaning:
      'Too many calls of this tenant or of all tenants wait for the database, or this request waited too long. Nothing was done; try again.',
  },
  MUSTER_SCHEMA_OTHER_LAYOUT: {
    status: 503,
    meaning:
      'The database has the layout of another, earlier version, which cannot be migrated. Start with an empty database, or with another schema.',
  },
  MUSTER_SCHEMA_TOO_NEW: {
    status: 503,
    meaning: 'A newer version has migrated the database. Run that version.',
  },
  MUSTER_SCHEMA_TOO_OLD: {
    status: 503,
    meaning:
      'The database lacks migrations of this version, and MUSTER_AUTO_MIGRATE=no leaves them to you. Run "muster migrate up".',
  },
  MUSTER_STOPPING: { status: 503, meaning: 'The server is stopping. Try again, or try another node.' },
  MUSTER_TOO_MANY_WAITING: {
    status: 503,
    meaning:
      'There is no work, and this node already holds as many waiting requests as MUSTER_MAX_WAITING allows. Retry after Retry-After, or ask without a wait.',
  },
  MUSTER_UNKNOWN_ACTION: { status: 404, meaning: 'There is no action with this id.' },
  MUSTER_UNKNOWN_LANE: { status: 404, meaning: 'There is no lane with this name.' },
  MUSTER_UNKNOWN_RUNNER: { status: 404, meaning: 'There is no such runner.' },
  MUSTER_WRONG_GENERATION: {
    status: 409,
    meaning: 'The worker belongs to an older generation of the lane and gets no more actions from it.',
  },
} as const satisfies ErrorCatalogue;
