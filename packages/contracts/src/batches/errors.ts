import type { ErrorCatalogue } from '../error-catalogue.ts';

export const BATCH_ERRORS = {
  MUSTER_UNKNOWN_BATCH: { status: 404, meaning: 'There is no batch with this id.' },
} as const satisfies ErrorCatalogue;
