import type { FastifyReply, FastifyRequest } from 'fastify';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import { httpError } from './errors.ts';

/**
 * The cookies of signed-in browsers: one per tenant, so a browser can be signed in to several. Scripts cannot read
 * them, and other sites cannot send them.
 */
const NAME = /^muster_session_([1-9]\d{0,9})$/;
/** At most this many are looked at. */
const MOST = 20;
const HEADER = 'muster-tenant';

const nameOf = (tenantId: number) => `muster_session_${tenantId}`;

/** All our cookies of the request, by tenant. */
export function sessionCookies({ headers }: FastifyRequest): Map<number, string> {
  const found = new Map<number, string>();
  for (const part of headers.cookie?.split(';') ?? []) {
    const at = part.indexOf('=');
    const [, tenant] = NAME.exec(part.slice(0, at).trim()) ?? [];
    if (tenant && found.size < MOST) found.set(Number(tenant), part.slice(at + 1).trim());
  }
  return found;
}

/** The tenant a request with a cookie is for. */
export function meantTenant({ headers, query }: FastifyRequest): number {
  const inQuery = (query as { readonly tenant?: unknown } | undefined)?.tenant;
  const text = headers[HEADER] ?? (typeof inQuery === 'string' ? inQuery : undefined);
  if (text === undefined) return DEFAULT_TENANT;
  if (typeof text !== 'string' || !/^[1-9]\d{0,9}$/.test(text))
    throw httpError('MUSTER_BAD_HEADER', 'Muster-Tenant is not a tenant id.');
  return Number(text);
}

/**
 * Browsers add the cookie to every request, so a change with it must be one that only our own page can make: browsers
 * name the origin of a request, and a form can send neither JSON nor its own headers.
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
