import { HOST_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const hostError = errorsOf(HOST_ERRORS);

export const unknownHost = () => hostError('MUSTER_UNKNOWN_HOST', 'There is no host with this id.');
export const unknownService = () =>
  hostError('MUSTER_UNKNOWN_SERVICE', 'This host has no service with this id.');
export const unknownAction = () =>
  hostError('MUSTER_UNKNOWN_HOST_ACTION', 'This host has no action with this id.');
