import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { ROLES } from '../tokens/kinds.ts';
import { time } from '../values.ts';

/**
 * Browser sign-ins. Each is an HttpOnly cookie, one per tenant, with the rights and the lifetime of the operator token
 * that it was made with. The header Muster-Tenant chooses one for a request; the default is the default tenant's.
 */
export const MUSTER_TENANT = {
  'Muster-Tenant':
    'For requests with cookies: the id of the tenant whose sign-in to use; the default tenant if missing.',
} as const;

const signIn = z
  .strictObject({
    tenant: z.strictObject({ id: z.string(), name: z.string() }),
    role: z.enum(ROLES),
    name: z.string().describe('The name of the token, as in the audit log.'),
    signedInAt: time,
    endsAt: time.describe('The latest end; it also ends with its token.'),
  })
  .meta({ id: 'SignIn' });
export type SignIn = z.infer<typeof signIn>;

const signIns = z
  .strictObject({
    signIns: z.array(signIn).describe('The sign-ins of this browser, by tenant id.'),
    now: time.describe('The time of the server.'),
    version: z.string(),
    features: z.array(z.string()).describe('The enabled parts of the server.'),
  })
  .meta({ id: 'SignIns' });
export type SignIns = z.infer<typeof signIns>;

export const session = {
  create: endpoint({
    method: 'POST',
    path: '/api/session',
    summary: 'Sign a browser in with the operator token of this request; sets a cookie for its tenant',
    headers: { Authorization: 'Bearer and an operator token. Cookies are ignored here.' },
    responses: { 201: { description: 'Signed in.', schema: signIn } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/session',
    summary: 'List the sign-ins of this browser; works without any',
    responses: {
      200: { description: 'The valid ones; cookies of others are cleared.', schema: signIns },
    },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/session',
    summary: 'Sign this browser out of a tenant',
    headers: MUSTER_TENANT,
    responses: { 204: { description: 'Signed out, on all nodes.' } },
  }),
};
