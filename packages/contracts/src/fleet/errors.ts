import type { ErrorCatalogue } from '../error-catalogue.ts';

export const FLEET_ERRORS = {
  MUSTER_DEVICE_EXISTS: {
    status: 409,
    meaning: 'Another device of the tenant has this externalId.',
  },
  MUSTER_IMPORT_RUNNING: {
    status: 409,
    meaning: 'Another import of the tenant is running at this node. Send this one when it has ended.',
  },
  MUSTER_UNKNOWN_DEVICE: { status: 404, meaning: 'There is no device with this id.' },
  MUSTER_UNKNOWN_PC: { status: 404, meaning: 'There is no PC with this id.' },
} as const satisfies ErrorCatalogue;
