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

/**
 * Tokens of a device that was enrolled again or deleted get their own error. A rotated or revoked token of the same
 * device gets the usual one.
 */
export const refuseFormer =
  (engine: Engine) =>
  async ({ tenantId, restriction }: FormerToken): Promise<MusterError | null> =>
    (await isOfFormerLife(engine, tenantId, restriction as DeviceOf)) ? replacedDevice() : null;
