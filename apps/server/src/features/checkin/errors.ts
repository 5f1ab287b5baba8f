import { type ErrorCatalogue, errorsOf } from '../../errors.ts';

export const CHECKIN_ERRORS = {
  MUSTER_DEVICE_REPLACED: {
    status: 401,
    meaning: 'The device has enrolled again or was deleted; this token is of its former life. Enrol again.',
  },
  MUSTER_REPORT_TOO_LARGE: {
    status: 413,
    meaning:
      'The data or the error of a result is larger than 64 KiB. Keep large output elsewhere and report where.',
  },
} as const satisfies ErrorCatalogue;

export const checkinError = errorsOf(CHECKIN_ERRORS);
