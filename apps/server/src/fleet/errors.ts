import { type ErrorCatalogue, errorsOf } from '../errors.ts';

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

export const deviceError = errorsOf(FLEET_ERRORS);

export const unknownDevice = () => deviceError('MUSTER_UNKNOWN_DEVICE', 'There is no device with this id.');
