import type { ErrorCatalogue } from '../error-catalogue.ts';

export const WEBHOOK_ERRORS = {
  MUSTER_BAD_WEBHOOK_URL: {
    status: 400,
    meaning: 'Requests to this address are impossible or not allowed (MUSTER_OUTGOING_ALLOW).',
  },
  MUSTER_DELIVERY_FORGOTTEN: {
    status: 410,
    meaning: 'The delivery is no longer kept (MUSTER_RETENTION_DAYS) and cannot be replayed.',
  },
  MUSTER_TOO_MANY_WEBHOOKS: { status: 409, meaning: 'A tenant can have at most 100 webhooks.' },
  MUSTER_UNKNOWN_DELIVERY: { status: 404, meaning: 'The webhook has no delivery with this id.' },
  MUSTER_UNKNOWN_WEBHOOK: { status: 404, meaning: 'There is no webhook with this id.' },
} as const satisfies ErrorCatalogue;
