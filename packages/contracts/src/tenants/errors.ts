import type { ErrorCatalogue } from '../error-catalogue.ts';

export const TENANT_ERRORS = {
  MUSTER_TENANT_EXISTS: { status: 409, meaning: 'A tenant with this name already exists.' },
  MUSTER_UNKNOWN_TENANT: { status: 404, meaning: 'There is no tenant with this id.' },
} as const satisfies ErrorCatalogue;
