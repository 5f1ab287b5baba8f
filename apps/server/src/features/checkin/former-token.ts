import type { Engine } from '@muster/engine';
import type { MusterError } from '../../errors.ts';
import { type DeviceOf, isOfFormerLife } from '../../fleet/index.ts';
import type { FormerToken } from '../../tokens/tokens.ts';
import { checkinError } from './errors.ts';

export const replacedDevice = () =>
  checkinError(
    'MUSTER_DEVICE_REPLACED',
    'This device was enrolled again or deleted since this token was issued. Enrol again.',
  );

/** A device whose token was only rotated or revoked is still the same one: it hears what everybody hears. */
export const refuseFormer =
  (engine: Engine) =>
  async ({ tenantId, restriction }: FormerToken): Promise<MusterError | null> =>
    (await isOfFormerLife(engine, tenantId, restriction as DeviceOf)) ? replacedDevice() : null;
