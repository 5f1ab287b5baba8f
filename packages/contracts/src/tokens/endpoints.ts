import { endpoint } from '../endpoint.ts';
import { emptyBody, idParams } from '../values.ts';
import { issuedToken, tokenPage } from './answers.ts';
import { listQuery, newToken } from './requests.ts';

/** Admins manage the tokens of their tenant. A secret is only in the response to its creation. */
export const tokens = {
  create: endpoint({
    method: 'POST',
    path: '/api/tokens',
    summary: 'Create a token; its secret is shown once',
    body: newToken,
    responses: { 201: { description: 'The token with its secret.', schema: issuedToken } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/tokens',
    summary: 'List the tokens of the tenant, without secrets',
    query: listQuery,
    responses: {
      200: {
        description: 'Newest first, including revoked ones; pass the cursor to get the next page.',
        schema: tokenPage,
      },
    },
  }),
  revoke: endpoint({
    method: 'DELETE',
    path: '/api/tokens/:id',
    summary: 'Revoke a token on all nodes at once',
    params: idParams,
    responses: { 204: { description: 'Revoked.' } },
  }),
  rotate: endpoint({
    method: 'POST',
    path: '/api/tokens/:id/rotate',
    summary: 'Rotate a token; the old secret stays valid until the new one is used',
    params: idParams,
    body: emptyBody,
    responses: { 201: { description: 'The new token with its secret.', schema: issuedToken } },
  }),
};
