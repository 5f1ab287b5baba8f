import type { ErrorCatalogue } from '../error-catalogue.ts';

/** For phones and their management. A phone is never answered with 401: it would leave. */
export const MDM_ERRORS = {
  MUSTER_BAD_COMMAND: {
    status: 400,
    meaning: 'The command is not valid for a phone. The message says why.',
  },
  MUSTER_COMMAND_UUID_USED: {
    status: 409,
    meaning:
      'Another command for this phone has this CommandUUID. Repeating the same command is allowed and queues nothing new.',
  },
  MUSTER_MDM_NOT_CONFIGURED: {
    status: 409,
    meaning: 'There is no push certificate yet, and the enrolment profile needs its topic. See docs/mdm.md.',
  },
  MUSTER_MDM_REFUSED: {
    status: 400,
    meaning:
      'A message from a phone was refused: its certificate, signature or form is wrong, or the phone is unknown. Nothing was changed.',
  },
  MUSTER_MDM_USER_NOT_MANAGED: {
    status: 410,
    meaning: 'Only the device is managed, not its users.',
  },
  MUSTER_NEW_LIFE: {
    status: 409,
    meaning:
      'The phone has just enrolled, and unfinished actions from before are still being ended. Retry after Retry-After.',
  },
  MUSTER_NO_PHONE_ANSWER: {
    status: 404,
    meaning: 'No separate answer is kept for this action: it is in the result, or there is none.',
  },
  MUSTER_NOT_ENROLLED: {
    status: 409,
    meaning: 'No phone is enrolled as this device.',
  },
  MUSTER_SCEP_TOO_MANY: {
    status: 429,
    meaning: 'Too many certificate requests from this address were refused within a minute.',
  },
  MUSTER_UNKNOWN_ENROLMENT: {
    status: 404,
    meaning: 'The enrolment token is unknown, no longer valid or already used.',
  },
  MUSTER_WRONG_SERIAL: {
    status: 409,
    meaning: 'EraseDevice must repeat the serial number of the device; this one differs.',
  },
} as const satisfies ErrorCatalogue;
