import type { ErrorCatalogue } from '../error-catalogue.ts';

export const CHECKIN_ERRORS = {
  MUSTER_DEVICE_REPLACED: {
    status: 401,
    meaning: 'The device has enrolled again or was deleted; this token is of its former life. Enrol again.',
  },
} as const satisfies ErrorCatalogue;
