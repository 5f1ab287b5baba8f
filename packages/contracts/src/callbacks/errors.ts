import type { ErrorCatalogue } from '../error-catalogue.ts';

export const CALLBACK_ERRORS = {
  MUSTER_UNKNOWN_MESSAGE: {
    status: 404,
    meaning:
      'No message with this id is waiting: it does not exist, or was delivered, cancelled or given up.',
  },
  MUSTER_UNKNOWN_DEAD_LETTER: { status: 404, meaning: 'There is no dead letter with this id.' },
  MUSTER_BAD_DESTINATION: {
    status: 400,
    meaning: 'A callback cannot be sent to this address: it is invalid, or in a network that is not allowed.',
  },
  MUSTER_BAD_CALLBACK: { status: 400, meaning: 'A header of the publish request is invalid.' },
  MUSTER_NOT_OFFERED: {
    status: 404,
    meaning: 'Muster does not offer this part of QStash: queues, schedules, topics, flow control.',
  },
} as const satisfies ErrorCatalogue;
