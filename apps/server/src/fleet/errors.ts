import { FLEET_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

export const deviceError = errorsOf(FLEET_ERRORS);

export const unknownDevice = () => deviceError('MUSTER_UNKNOWN_DEVICE', 'There is no device with this id.');
