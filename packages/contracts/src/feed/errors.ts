import type { ErrorCatalogue } from '../error-catalogue.ts';

export const FEED_ERRORS = {
  MUSTER_TOO_MANY_STREAMS: {
    status: 503,
    meaning:
      'As many event streams as MUSTER_MAX_STREAMS allows are open at this node. Come back after Retry-After, or read pages.',
  },
} as const satisfies ErrorCatalogue;
