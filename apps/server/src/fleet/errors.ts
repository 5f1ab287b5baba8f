import { FLEET_ERRORS } from '@muster/contracts/words';
import { errorsOf, MusterError } from '../errors.ts';

export const deviceError = errorsOf(FLEET_ERRORS);

export const unknownDevice = () => deviceError('MUSTER_UNKNOWN_DEVICE', 'There is no device with this id.');

/** Names the device, so the caller can clear its error. */
export class DeviceInError extends MusterError {
  readonly device: { readonly id: string; readonly name: string };

  constructor(device: DeviceInError['device'], message: string) {
    super('MUSTER_DEVICE_IN_ERROR', FLEET_ERRORS.MUSTER_DEVICE_IN_ERROR.status, message);
    this.device = device;
  }
}
