import type { FastifyReply, FastifyRequest } from 'fastify';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import { httpError } from './errors.ts';

/**
 * The cookies of browsers that are signed in: one per tenant, so that one browser can be signed in to several. No script can
 * read them and no other site can send them along.
 */
const NAME = /^muster_session_([1-9]\d{0,9})$/;
/** As many are looked at. */
const MOST = 20;
const HEADER = 'muster-tenant';

const nameOf = (tenantId: number) => `muster_session_${tenantId}`;

/** All of ours that came with the request, by tenant. */
export function sessionCookies({ headers }: FastifyRequest): Map<number, string> {
  const found = new Map<number, string>();
  for (const part of headers.cookie?.split(';') ?? []) {
    const at = part.indexOf('=');
    const [, tenant] = NAME.exec(part.slice(0, at).trim()) ?? [];
    if (tenant && found.size < MOST) found.set(Number(tenant), part.slice(at + 1).trim());
  }
  return found;
}

/** The tenant that the request means, if it is made with a cookie. */
export function meantTenant({ headers, query }: FastifyRequest): number {
  const inQuery = (query as { readonly tenant?: unknown } | undefined)?.tenant;
  const text = headers[HEADER] ?? (typeof inQuery === 'string' ? inQuery : undefined);
  if (text === undefined) return DEFAULT_TENANT;
  if (typeof text !== 'string' || !/^[1-9]\d{0,9}$/.test(text))
    throw httpError('MUSTER_BAD_HEADER', 'Muster-Tenant is not a tenant id.');
  return Number(text);
}

/**
 * The cookie comes by itself with whatever the browser sends, so a request that is made with it must be one that only our own
 * page can make: browsers say where it comes from, and a form can send neither JSON nor a header of its own.
 */
export function refuseCrossSite({ headers, method }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw httpError('MUSTER_CROSS_SITE', 'Requests with a cookie must come from the console itself.');
  if (method === 'GET' || method === 'HEAD' || headers[HEADER] !== undefined) return;
  if (/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) return;
  throw httpError(
    'MUSTER_CROSS_SITE',
    'A change with a cookie needs a JSON body or the header Muster-Tenant.',
  );
}

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  tenantId: number,
  session: { readonly secret: string; readonly seconds: number } | null,
): void {
  const value = session ? `${session.secret}; Max-Age=${session.seconds}` : '; Max-Age=0';
  const secure = request.protocol === 'https' ? '; Secure' : '';
  reply.header('set-cookie', `${nameOf(tenantId)}=${value}; Path=/api; HttpOnly; SameSite=Strict${secure}`);
}
