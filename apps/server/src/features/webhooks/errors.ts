import { WEBHOOK_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const webhookError = errorsOf(WEBHOOK_ERRORS);

export const unknownWebhook = () =>
  webhookError('MUSTER_UNKNOWN_WEBHOOK', 'There is no webhook with this id.');
export const unknownDelivery = () =>
  webhookError('MUSTER_UNKNOWN_DELIVERY', 'The webhook has no delivery with this id.');
