import type { ErrorCatalogue } from '../error-catalogue.ts';

export const FLEET_ERRORS = {
  MUSTER_BAD_UPLOAD: {
    status: 400,
    meaning:
      'Not even the first row of the upload can be read: its header is missing or wrong, or it is not UTF-8. Nothing was registered.',
  },
  MUSTER_DEVICE_EXISTS: {
    status: 409,
    meaning: 'Another device of the tenant has this externalId.',
  },
  MUSTER_DEVICE_IN_ERROR: {
    status: 409,
    meaning:
      'The device of this dead letter is in error, so it stays one. Redrive it with `clearError: true`, or clear the error first. Whichever door the action is of.',
  },
  MUSTER_IMPORT_RUNNING: {
    status: 409,
    meaning: 'Another import of the tenant is running at this node. Send this one when it has ended.',
  },
  MUSTER_TARGET_GONE: {
    status: 409,
    meaning:
      'What this action was for is deleted: its device, its PC, its service or its host. It is neither redriven nor copied, because nobody could ever have it.',
  },
  MUSTER_UNKNOWN_DEVICE: { status: 404, meaning: 'There is no device with this id.' },
  MUSTER_UNKNOWN_PC: { status: 404, meaning: 'There is no PC with this id.' },
} as const satisfies ErrorCatalogue;
