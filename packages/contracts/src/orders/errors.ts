import type { ErrorCatalogue } from '../error-catalogue.ts';

export const ORDER_ERRORS = {
  BOT_BUSY: {
    status: 409,
    meaning: 'The bot is already processing an order; the response has it as `order`.',
  },
  MUSTER_BAD_SIGNATURE: {
    status: 401,
    meaning: 'The signature of the callback is not valid for its tenant, body and address.',
  },
  MUSTER_ORDER_STATUS: {
    status: 409,
    meaning: 'The order or bot cannot change like this from its current status. The message says why.',
  },
  MUSTER_UNKNOWN_BOT: { status: 404, meaning: 'There is no bot with this id, or it was deleted.' },
  MUSTER_UNKNOWN_ORDER: { status: 404, meaning: 'There is no order with this id, or it was deleted.' },
  MUSTER_WRONG_BOT: { status: 403, meaning: 'The token belongs to another bot.' },
} as const satisfies ErrorCatalogue;
