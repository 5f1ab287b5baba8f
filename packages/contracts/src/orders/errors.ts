import type { ErrorCatalogue } from '../error-catalogue.ts';

export const ORDER_ERRORS = {
  MUSTER_BOT_BUSY: {
    status: 409,
    meaning: 'The bot processes an order already; the answer has it as `order`.',
  },
  MUSTER_BAD_SIGNATURE: {
    status: 401,
    meaning: 'The callback is not signed by a key of its tenant, for this very body and address.',
  },
  MUSTER_ORDER_STATUS: {
    status: 409,
    meaning: 'The order or the bot cannot change like that from the status it has; the sentence says why.',
  },
  MUSTER_UNKNOWN_BOT: { status: 404, meaning: 'There is no bot with this id, or it was deleted.' },
  MUSTER_UNKNOWN_ORDER: { status: 404, meaning: 'There is no order with this id, or it was deleted.' },
  MUSTER_WRONG_BOT: { status: 403, meaning: 'The token is that of another bot.' },
} as const satisfies ErrorCatalogue;
