import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { issuedToken } from '../tokens/answers.ts';
import { newToken } from '../tokens/requests.ts';
import { idParams, limit, nextCursor, placeCursor, time } from '../values.ts';
import { TENANT_NAME } from './name.ts';

/** Tenants share an installation and nothing else; admins of the default one create them. */
export const newTenant = z
  .strictObject({
    name: z.string().min(1).max(TENANT_NAME.longest).regex(TENANT_NAME.form).describe(TENANT_NAME.described),
  })
  .meta({ id: 'NewTenant' });
export type NewTenant = z.infer<typeof newTenant>;

export const tenant = z
  .strictObject({ id: z.string(), name: z.string(), createdAt: time })
  .meta({ id: 'Tenant' });
export type Tenant = z.infer<typeof tenant>;

export const tenantPage = z
  .strictObject({ tenants: z.array(tenant), cursor: nextCursor })
  .meta({ id: 'TenantPage' });
export type TenantPage = z.infer<typeof tenantPage>;

export const tenants = {
  create: endpoint({
    method: 'POST',
    path: '/api/tenants',
    summary: 'Create a tenant; for admins of the default tenant',
    body: newTenant,
    responses: { 201: { description: 'Created, without tokens.', schema: tenant } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/tenants',
    summary: 'List tenants; for admins of the default tenant',
    query: z.strictObject({ cursor: placeCursor.optional(), limit: limit.optional() }),
    responses: {
      200: { description: 'Oldest first; pass the cursor to get the next page.', schema: tenantPage },
    },
  }),
  createToken: endpoint({
    method: 'POST',
    path: '/api/tenants/:id/tokens',
    summary: 'Create a token for a tenant, such as its first admin token; for admins of the default tenant',
    params: idParams,
    body: newToken,
    responses: { 201: { description: 'The token with its secret, shown once.', schema: issuedToken } },
  }),
};
