import type { ErrorCatalogue } from '../error-catalogue.ts';

export const FEED_ERRORS = {
  MUSTER_TOO_MANY_STREAMS: {
    status: 503,
    meaning:
      'This node already has as many event streams as MUSTER_MAX_STREAMS allows. Retry after Retry-After, or read pages.',
  },
} as const satisfies ErrorCatalogue;
