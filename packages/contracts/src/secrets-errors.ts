import type { ErrorCatalogue } from './error-catalogue.ts';

export const SECRETS_ERRORS = {
  MUSTER_SECRETS_KEY_MISSING: {
    status: 503,
    meaning:
      'Something is to be kept sealed and there is no key. Set MUSTER_SECRETS_KEY, on every node the same.',
  },
  MUSTER_SECRET_UNREADABLE: {
    status: 500,
    meaning:
      'A sealed value cannot be opened: its key is not set, or somebody changed it in the database. Look for the key it was sealed with.',
  },
} as const satisfies ErrorCatalogue;
