import type { ErrorCatalogue } from '../error-catalogue.ts';

/** In `extensions.code` of an error of GraphQL, in `failed` of a bulk, in the rows of a batch. */
export const PIPELINE_ERRORS = {
  ACTION_NOT_FOUND: { status: 404, meaning: 'There is no action type with this number; they are 1 to 10.' },
  DEVICE_BUSY: {
    status: 409,
    meaning:
      'An action of the device awaits its first dispatch, or something runs on it. Wait, or assign with `whenBusy: QUEUE`.',
  },
  DEVICE_NOT_FOUND: { status: 404, meaning: 'There is no device with this id.' },
  INVALID_TRANSITION: {
    status: 409,
    meaning: 'The action is not allowed in the policy that the device will have by then.',
  },
  LANE_FULL: {
    status: 409,
    meaning: 'The lane of the device holds as many unfinished actions as MUSTER_LANE_DEPTH_LIMIT allows.',
  },
  MESSAGE_PUSH_NOT_CONFIGURED: {
    status: 409,
    meaning:
      'Messages go to a companion app by push, and the certificate, the topic or the token of the app is missing.',
  },
  NO_UNLOCK_TOKEN: { status: 409, meaning: 'The device has given no token by which it could be unlocked.' },
  NOT_ASSIGNABLE: { status: 409, meaning: 'Devices do this of their own accord: Checkin and Activate.' },
  QUERY_TOO_COSTLY: {
    status: 400,
    meaning: 'The GraphQL document is deeper than 10 or costs more than 1,000.',
  },
  TEMPLATE_INACTIVE: { status: 409, meaning: 'The message template is not active.' },
  TEMPLATE_NOT_FOUND: { status: 404, meaning: 'There is no message template with this id.' },
  TEMPLATE_REQUIRED: { status: 400, meaning: 'Send Message and Lock Message need a message template.' },
  TOO_MANY_DEVICES: { status: 400, meaning: 'A bulk takes 10,000 devices at most.' },
} as const satisfies ErrorCatalogue;
