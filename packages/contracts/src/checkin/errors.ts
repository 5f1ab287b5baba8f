import type { ErrorCatalogue } from '../error-catalogue.ts';

export const CHECKIN_ERRORS = {
  MUSTER_DEVICE_REPLACED: {
    status: 401,
    meaning: 'The device was enrolled again or deleted since this token was issued. Enrol again.',
  },
} as const satisfies ErrorCatalogue;
