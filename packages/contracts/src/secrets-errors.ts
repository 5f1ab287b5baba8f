import type { ErrorCatalogue } from './error-catalogue.ts';

export const SECRETS_ERRORS = {
  MUSTER_SECRETS_KEY_MISSING: {
    status: 503,
    meaning:
      'A secret must be sealed and there is no key. Set MUSTER_SECRETS_KEY to the same value on every node.',
  },
  MUSTER_SECRET_UNREADABLE: {
    status: 500,
    meaning:
      'A sealed value cannot be opened: its key is not set, or the value was changed in the database. Set the key it was sealed with.',
  },
} as const satisfies ErrorCatalogue;
