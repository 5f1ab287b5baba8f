import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { ROLES } from '../tokens/kinds.ts';
import { time } from '../values.ts';

/**
 * Sign-ins of a browser. Each is an HttpOnly cookie, one per tenant, and is worth as much as the operator token that it was
 * made with, and no longer. Which of them a request is made with says the header Muster-Tenant; without it the default tenant's.
 */
export const MUSTER_TENANT = {
  'Muster-Tenant':
    'Of a request with cookies: the id of the tenant whose sign-in is meant; without it that of the default tenant.',
} as const;

const signIn = z
  .strictObject({
    tenant: z.strictObject({ id: z.string(), name: z.string() }),
    role: z.enum(ROLES),
    name: z.string().describe('That of the token: what the audit log calls whoever signed in with it.'),
    signedInAt: time,
    endsAt: time.describe('At the latest; it ends with its token.'),
  })
  .meta({ id: 'SignIn' });
export type SignIn = z.infer<typeof signIn>;

const signIns = z
  .strictObject({
    signIns: z.array(signIn).describe('Of this browser, by the ids of their tenants.'),
    now: time.describe('By the clock of the server.'),
    version: z.string(),
    features: z.array(z.string()).describe('The parts of the server that there are.'),
  })
  .meta({ id: 'SignIns' });
export type SignIns = z.infer<typeof signIns>;

export const session = {
  create: endpoint({
    method: 'POST',
    path: '/api/session',
    summary:
      'Sign a browser in with the operator token of this request: the answer sets a cookie for its tenant',
    headers: { Authorization: 'Bearer and an operator token. Cookies are not looked at here.' },
    responses: { 201: { description: 'Signed in.', schema: signIn } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/session',
    summary: 'The sign-ins of this browser; needs none of them',
    responses: {
      200: { description: 'Those that are valid; cookies of others are taken back.', schema: signIns },
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
