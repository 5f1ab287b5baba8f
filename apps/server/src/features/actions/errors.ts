import { type ErrorCatalogue, errorsOf } from '../../errors.ts';

export const ACTION_ERRORS = {
  MUSTER_ALREADY_FINISHED: {
    status: 409,
    meaning:
      'The action has ended, so it cannot be cancelled or moved any more. The sentence says how it ended.',
  },
  MUSTER_ALREADY_RUNNING: {
    status: 409,
    meaning: 'The action is with a worker at the moment, so its place in the lane cannot be changed.',
  },
  MUSTER_EMPTY_FILTER: {
    status: 400,
    meaning: 'An operation on many actions needs a filter. Without one it would mean all of them.',
  },
  MUSTER_LANE_NOT_ALLOWED: { status: 403, meaning: 'The worker token is for other lanes than this one.' },
  MUSTER_NOT_FAILED: {
    status: 409,
    meaning: 'Only an action that failed for good can be redriven. The sentence says what state it is in.',
  },
  MUSTER_RESULT_TOO_LARGE: {
    status: 413,
    meaning:
      'The result or the error of a report is larger than 64 KiB. Keep large output elsewhere and report where.',
  },
} as const satisfies ErrorCatalogue;

export const actionError = errorsOf(ACTION_ERRORS);
