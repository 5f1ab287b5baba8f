import { type ErrorCatalogue, errorsOf } from '../../errors.ts';

export const DEVICE_ERRORS = {
  MUSTER_DEVICE_EXISTS: {
    status: 409,
    meaning: 'Another device of the tenant has this externalId.',
  },
  MUSTER_DEVICE_REPLACED: {
    status: 401,
    meaning: 'The device has enrolled again or was deleted; this token is of its former life. Enrol again.',
  },
  MUSTER_IMPORT_RUNNING: {
    status: 409,
    meaning: 'Another import of the tenant is running at this node. Send this one when it has ended.',
  },
  MUSTER_REPORT_TOO_LARGE: {
    status: 413,
    meaning:
      'The data or the error of a result is larger than 64 KiB. Keep large output elsewhere and report where.',
  },
  MUSTER_UNKNOWN_DEVICE: { status: 404, meaning: 'There is no device with this id.' },
  MUSTER_UNKNOWN_PC: { status: 404, meaning: 'There is no PC with this id.' },
  MUSTER_WRONG_ENROLMENT: {
    status: 403,
    meaning: 'The enrolment token is for something else than devices, or may not enrol a known device again.',
  },
} as const satisfies ErrorCatalogue;

export const deviceError = errorsOf(DEVICE_ERRORS);

export const unknownDevice = () => deviceError('MUSTER_UNKNOWN_DEVICE', 'There is no device with this id.');
