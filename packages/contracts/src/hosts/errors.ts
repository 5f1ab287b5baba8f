import type { ErrorCatalogue } from '../error-catalogue.ts';

export const HOST_ERRORS = {
  MUSTER_AGENT_COOKIES: {
    status: 400,
    meaning: 'Agents must not send cookies: the request comes from a browser.',
  },
  MUSTER_AGENT_HEADER: {
    status: 401,
    meaning: 'The header "Authorization: Bearer <token>" is missing.',
  },
  MUSTER_AGENT_TOKEN: { status: 401, meaning: 'The token is unknown, revoked, or not an agent token.' },
  MUSTER_ATTEMPT_MISSING: {
    status: 409,
    meaning: 'The action was handed out more than once, so the report must name its attempt.',
  },
  MUSTER_BAD_MAX: {
    status: 400,
    meaning: 'An agent asks for work: max must be a whole number from 1 to 10.',
  },
  MUSTER_BAD_WAIT: {
    status: 400,
    meaning:
      'An agent asks for work: wait must be a whole number of seconds from 0 to 25. Any other wait that is out of range is MUSTER_BAD_BODY.',
  },
  MUSTER_CONTROL_OVERLOADED: {
    status: 503,
    meaning:
      'There is no work, and this node already holds as many waiting requests as MUSTER_MAX_WAITING allows. Retry after Retry-After, or ask with wait=0.',
  },
  MUSTER_HOST_EXISTS: { status: 409, meaning: 'Another host has this name.' },
  MUSTER_NO_AGENT_TOKEN: { status: 409, meaning: 'The host has no valid token to revoke.' },
  MUSTER_TOO_MANY_SERVICES: { status: 409, meaning: 'A host has at most 1000 services.' },
  MUSTER_UNIT_EXISTS: { status: 409, meaning: 'The host already has a service for this unit.' },
  MUSTER_UNKNOWN_HOST: { status: 404, meaning: 'There is no host with this id.' },
  MUSTER_UNKNOWN_HOST_ACTION: { status: 404, meaning: 'The host has no action with this id.' },
  MUSTER_UNKNOWN_SERVICE: { status: 404, meaning: 'The host has no service with this id.' },
} as const satisfies ErrorCatalogue;
