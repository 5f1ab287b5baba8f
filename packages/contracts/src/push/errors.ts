import type { ErrorCatalogue } from '../error-catalogue.ts';

export const PUSH_ERRORS = {
  MUSTER_PUSH_CERTIFICATE_UNUSABLE: {
    status: 400,
    meaning: 'The push certificate or its key is not usable. Send both in PEM, the key without a password.',
  },
} as const satisfies ErrorCatalogue;
