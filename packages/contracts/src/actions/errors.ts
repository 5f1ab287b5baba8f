import type { ErrorCatalogue } from '../error-catalogue.ts';

export const ACTION_ERRORS = {
  MUSTER_ALREADY_RUNNING: {
    status: 409,
    meaning: 'The action is with a worker at the moment, so its place in the lane cannot be changed.',
  },
  MUSTER_EMPTY_FILTER: {
    status: 400,
    meaning: 'An operation on many actions needs a filter. Without one it would mean all of them.',
  },
  MUSTER_LANE_NOT_ALLOWED: { status: 403, meaning: 'The worker token is for other lanes than this one.' },
  MUSTER_NOT_COPIED: {
    status: 409,
    meaning:
      'Actions of tasks, orders and the command pipeline are made anew by their door, not copied. The sentence says how.',
  },
  MUSTER_NOT_FAILED: {
    status: 409,
    meaning: 'Only an action that failed for good can be redriven. The sentence says what state it is in.',
  },
  MUSTER_NOT_FINISHED: {
    status: 409,
    meaning: 'Only an action that has ended can be copied. The sentence says what state it is in.',
  },
  MUSTER_TEXT_ALONE: {
    status: 400,
    meaning: 'Payloads are searched only among actions of a kind, a tag, a lane or the last 24 hours.',
  },
} as const satisfies ErrorCatalogue;
