import type { ErrorCatalogue } from '../error-catalogue.ts';

export const TOKEN_ERRORS = {
  MUSTER_LAST_ADMIN: {
    status: 409,
    meaning: 'The last admin token of a tenant cannot be revoked. Create another one first.',
  },
  MUSTER_TOKEN_REVOKED: { status: 409, meaning: 'A revoked token cannot be rotated. Create a new one.' },
  MUSTER_UNKNOWN_TOKEN: { status: 404, meaning: 'There is no token with this id.' },
} as const satisfies ErrorCatalogue;
