import type { ErrorCatalogue } from '../error-catalogue.ts';

export const HOST_ERRORS = {
  MUSTER_AGENT_COOKIES: {
    status: 400,
    meaning: 'An agent sends no cookies: a browser is being used by somebody.',
  },
  MUSTER_AGENT_HEADER: {
    status: 401,
    meaning: 'The request of an agent has no header "Authorization: Bearer <token>".',
  },
  MUSTER_AGENT_TOKEN: { status: 401, meaning: 'The token is unknown, revoked, or not that of an agent.' },
  MUSTER_ATTEMPT_MISSING: {
    status: 409,
    meaning:
      'A report without an attempt is only clear if the action was handed out exactly once. Send the attempt.',
  },
  MUSTER_BAD_MAX: { status: 400, meaning: 'max must be a whole number from 1 to 10.' },
  MUSTER_BAD_WAIT: { status: 400, meaning: 'wait must be a whole number of seconds from 0 to 25.' },
  MUSTER_CONTROL_OVERLOADED: {
    status: 503,
    meaning:
      'There is nothing to do, and as many requests as MUSTER_MAX_WAITING allows wait at this node. Come back after Retry-After, or ask with wait=0.',
  },
  MUSTER_HOST_EXISTS: { status: 409, meaning: 'Another host has this name.' },
  MUSTER_NO_AGENT_TOKEN: { status: 409, meaning: 'The host has no valid token to revoke.' },
  MUSTER_TOO_MANY_SERVICES: { status: 409, meaning: 'A host has at most 1000 services.' },
  MUSTER_UNIT_EXISTS: { status: 409, meaning: 'The host has a service for this unit already.' },
  MUSTER_UNKNOWN_HOST: { status: 404, meaning: 'There is no host with this id.' },
  MUSTER_UNKNOWN_HOST_ACTION: { status: 404, meaning: 'The host has no action with this id.' },
  MUSTER_UNKNOWN_SERVICE: { status: 404, meaning: 'The host has no service with this id.' },
} as const satisfies ErrorCatalogue;
