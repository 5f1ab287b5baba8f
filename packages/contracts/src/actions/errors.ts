import type { ErrorCatalogue } from '../error-catalogue.ts';

export const ACTION_ERRORS = {
  MUSTER_ALREADY_RUNNING: {
    status: 409,
    meaning: 'The action is running, so neither its place in the lane nor its time can change.',
  },
  MUSTER_EMPTY_FILTER: {
    status: 400,
    meaning: 'An operation on many actions needs a filter; without one it would apply to all of them.',
  },
  MUSTER_LANE_NOT_ALLOWED: { status: 403, meaning: 'The worker token does not allow this lane.' },
  MUSTER_NOT_COPIED: {
    status: 409,
    meaning:
      'Actions of tasks, orders, callbacks, webhooks and the command pipeline cannot be copied; their door creates new ones. The message says how.',
  },
  MUSTER_NOT_DELAYED: {
    status: 409,
    meaning: 'Only an action that waits for its time or its retry can be made due.',
  },
  MUSTER_NOT_FAILED: {
    status: 409,
    meaning: 'Only dead letters can be redriven. The message names the state of the action.',
  },
  MUSTER_NOT_MADE_DUE: {
    status: 409,
    meaning: 'Calls of the server to itself, such as the end of an order, cannot be made due.',
  },
  MUSTER_NOT_MOVED: {
    status: 409,
    meaning: 'Orders are served by type and number; their actions cannot be moved to the front.',
  },
  MUSTER_NOT_FINISHED: {
    status: 409,
    meaning: 'Only finished actions can be copied. The message names the state of the action.',
  },
  MUSTER_TEXT_ALONE: {
    status: 400,
    meaning: 'A payload search needs a kind, a tag, a lane or the last 24 hours.',
  },
} as const satisfies ErrorCatalogue;
