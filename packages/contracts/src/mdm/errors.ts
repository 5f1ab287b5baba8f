import type { ErrorCatalogue } from '../error-catalogue.ts';

/** Of phones and of those who manage them. To a phone nothing is ever answered with 401: it would leave. */
export const MDM_ERRORS = {
  MUSTER_BAD_COMMAND: {
    status: 400,
    meaning: 'A command for a phone is not one that phones understand. The sentence says what is wrong.',
  },
  MUSTER_MDM_NOT_CONFIGURED: {
    status: 409,
    meaning:
      'There is no push certificate yet, so no phone can be enrolled: its topic stands in the profile. See docs/mdm.md.',
  },
  MUSTER_MDM_REFUSED: {
    status: 400,
    meaning:
      'A message of a phone was refused: its certificate, its signature, its form, or it is not known here. Nothing was changed.',
  },
  MUSTER_MDM_USER_NOT_MANAGED: {
    status: 410,
    meaning: 'Users of a device are not managed, only the device.',
  },
  MUSTER_NO_PHONE_ANSWER: {
    status: 404,
    meaning: 'No answer of a phone is kept apart for this action: it is its result, or there is none.',
  },
  MUSTER_NOT_ENROLLED: {
    status: 409,
    meaning: 'The device is not managed at the moment: no phone is enrolled as it.',
  },
  MUSTER_SCEP_TOO_MANY: {
    status: 429,
    meaning: 'Too many requests for certificates from this address were refused within a minute.',
  },
  MUSTER_UNKNOWN_ENROLMENT: {
    status: 404,
    meaning: 'There is no such enrolment: its token is unknown, over, or was used.',
  },
  MUSTER_WRONG_SERIAL: {
    status: 409,
    meaning: 'EraseDevice needs the serial number of the device repeated, and this is another one.',
  },
} as const satisfies ErrorCatalogue;
