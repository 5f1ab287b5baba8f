import type { ErrorCatalogue } from '../error-catalogue.ts';

/** Codes in `extensions.code` of a GraphQL error, in `failed` of a bulk, in the rows of a batch. */
export const PIPELINE_ERRORS = {
  ACTION_NOT_FOUND: { status: 404, meaning: 'There is no action type with this number; they are 1 to 10.' },
  DEVICE_BUSY: {
    status: 409,
    meaning:
      'The device is busy: an action is running or waits for its first dispatch. Wait, or assign with `whenBusy: QUEUE`.',
  },
  DEVICE_NOT_FOUND: { status: 404, meaning: 'There is no device with this id.' },
  INVALID_TRANSITION: {
    status: 409,
    meaning: 'The action is not allowed in the policy that the device will have when its turn comes.',
  },
  LANE_FULL: {
    status: 409,
    meaning:
      'The lane of the device is full: it has as many unfinished actions as MUSTER_LANE_DEPTH_LIMIT allows.',
  },
  MESSAGE_PUSH_NOT_CONFIGURED: {
    status: 409,
    meaning: 'Messages need push to the companion app, and its certificate, topic or token is missing.',
  },
  NO_UNLOCK_TOKEN: { status: 409, meaning: 'The device has not sent an unlock token.' },
  NOT_ASSIGNABLE: {
    status: 409,
    meaning: 'Checkin and Activate cannot be assigned; devices do them on their own.',
  },
  QUERY_TOO_COSTLY: {
    status: 400,
    meaning:
      'The GraphQL document is deeper than 10 levels, costs more than 1,000 or nests brackets deeper than 50.',
  },
  TEMPLATE_INACTIVE: { status: 409, meaning: 'The message template is not active.' },
  TEMPLATE_NOT_FOUND: { status: 404, meaning: 'There is no message template with this id.' },
  TEMPLATE_REQUIRED: { status: 400, meaning: 'Send Message and Lock Message need a message template.' },
  TOO_MANY_DEVICES: { status: 400, meaning: 'A bulk assignment takes at most 10,000 devices.' },
} as const satisfies ErrorCatalogue;
