import type { ErrorCatalogue } from '../error-catalogue.ts';

export const FLEET_ERRORS = {
  MUSTER_BAD_UPLOAD: {
    status: 400,
    meaning:
      'The upload cannot be read at all: its header is missing or wrong, or it is not UTF-8. Nothing was registered.',
  },
  MUSTER_DEVICE_EXISTS: {
    status: 409,
    meaning: 'Another device of this tenant has this externalId.',
  },
  MUSTER_DEVICE_IN_ERROR: {
    status: 409,
    meaning:
      'The device is in error, so its dead letters cannot be redriven, whichever door they belong to. Redrive with `clearError: true`, or clear the error first.',
  },
  MUSTER_DEVICE_DEREGISTERED: {
    status: 409,
    meaning: 'The device is deregistered and can no longer be enrolled. Create a new device.',
  },
  MUSTER_IMPORT_RUNNING: {
    status: 409,
    meaning: 'Another import of this tenant is running at this node. Wait until it has ended.',
  },
  MUSTER_TARGET_GONE: {
    status: 409,
    meaning:
      'The target of this action was deleted: its device, PC, service or host. The action can be neither redriven nor copied.',
  },
  MUSTER_UNKNOWN_DEVICE: { status: 404, meaning: 'There is no device with this id.' },
  MUSTER_UNKNOWN_PC: { status: 404, meaning: 'There is no PC with this id.' },
} as const satisfies ErrorCatalogue;
