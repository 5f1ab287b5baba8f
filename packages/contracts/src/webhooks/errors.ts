import type { ErrorCatalogue } from '../error-catalogue.ts';

export const WEBHOOK_ERRORS = {
  MUSTER_BAD_WEBHOOK_URL: {
    status: 400,
    meaning: 'Requests cannot be sent to this address, or may not (MUSTER_OUTGOING_ALLOW).',
  },
  MUSTER_DELIVERY_FORGOTTEN: {
    status: 410,
    meaning: 'What was sent is not kept any more (MUSTER_RETENTION_DAYS), so it cannot be sent again.',
  },
  MUSTER_TOO_MANY_WEBHOOKS: { status: 409, meaning: 'The tenant has as many webhooks as it may have, 100.' },
  MUSTER_UNKNOWN_DELIVERY: { status: 404, meaning: 'The webhook has no delivery with this id.' },
  MUSTER_UNKNOWN_WEBHOOK: { status: 404, meaning: 'There is no webhook with this id.' },
} as const satisfies ErrorCatalogue;
