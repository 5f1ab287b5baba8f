import { type ErrorCatalogue, errorsOf } from '../../errors.ts';

export const BATCH_ERRORS = {
  MUSTER_BATCH_OVER: {
    status: 409,
    meaning:
      'The batch was cancelled or aborted, so it is not paused or resumed. Retry it, or make a new one.',
  },
  MUSTER_UNKNOWN_BATCH: { status: 404, meaning: 'There is no batch with this id.' },
} as const satisfies ErrorCatalogue;

export const batchError = errorsOf(BATCH_ERRORS);
