import type { ErrorCatalogue } from './error-catalogue.ts';

/** What the engine's refusals become. The server does not compile if one is missing here. */
export const ENGINE_ERRORS = {
  MUSTER_BAD_TEXT: {
    status: 400,
    meaning: 'A text contains a character that cannot be stored: NUL, or half of a surrogate pair.',
  },
  MUSTER_BAD_VALUE: { status: 400, meaning: 'A value is outside of what is allowed. The sentence names it.' },
  MUSTER_IDEMPOTENCY_MISMATCH: {
    status: 409,
    meaning: 'The Idempotency-Key was used before, for another body. Nothing was queued.',
  },
  MUSTER_LANE_BUSY: {
    status: 503,
    meaning: 'The lane stayed locked by another transaction for too long. Try again.',
  },
  MUSTER_LANE_FULL: {
    status: 409,
    meaning: 'The lane holds as many unfinished actions as MUSTER_LANE_DEPTH_LIMIT allows.',
  },
  MUSTER_NO_ANSWER: {
    status: 503,
    meaning:
      'The database did not answer in time, or the connection to it broke. Whether the request was carried out is not known, unless the sentence says that it was stored: look, or repeat it with the same Idempotency-Key. What was claimed by it goes back.',
  },
  MUSTER_OTHER_INCARNATION: {
    status: 410,
    meaning:
      'The cursor of the event feed is of another life of the database, which was restored since, or is ahead of it. Read from the start.',
  },
  MUSTER_OUTSIDE_TRANSACTION: {
    status: 500,
    meaning: 'A fault of the server: a call was made outside of the transaction it belongs to.',
  },
  MUSTER_OVERLOADED: {
    status: 503,
    meaning:
      'As much as may waits for the database already, of this tenant or of all, or the request did not get there in time. Nothing was done; try again.',
  },
  MUSTER_SCHEMA_TOO_NEW: {
    status: 503,
    meaning:
      'The database was migrated by a newer version, and this one must not touch it. Run the newer one.',
  },
  MUSTER_STOPPING: { status: 503, meaning: 'The server is stopping. Try again, perhaps at another node.' },
  MUSTER_TOO_MANY_WAITING: {
    status: 503,
    meaning:
      'There is nothing to do, and as many requests as MUSTER_MAX_WAITING allows wait at this node. Come back after Retry-After, or ask without a wait.',
  },
  MUSTER_UNKNOWN_ACTION: { status: 404, meaning: 'There is no action with this id.' },
  MUSTER_UNKNOWN_LANE: { status: 404, meaning: 'There is no lane with this name.' },
  MUSTER_UNKNOWN_RUNNER: { status: 404, meaning: 'There is no such runner.' },
  MUSTER_WRONG_GENERATION: {
    status: 409,
    meaning: 'The worker belongs to an older generation of the lane and gets nothing from it any more.',
  },
} as const satisfies ErrorCatalogue;
