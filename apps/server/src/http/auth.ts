import { atLeast } from '@muster/contracts/words';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MusterError } from '../errors.ts';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import type { Caller } from '../tokens/caller.ts';
import type { SignedIn, SignIns } from '../tokens/sign-ins.ts';
import type { Tokens } from '../tokens/tokens.ts';
import type { Access, Refusals } from './access.ts';
import { isListed } from './client-address.ts';
import { httpError } from './errors.ts';
import { meantTenant, refuseCrossSite, sessionCookies, setSessionCookie } from './session-cookie.ts';
import type { SignInFailures } from './sign-in-failures.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before anything but the head is read; null on public routes only. */
    caller: Caller | null;
    /** The version of the tokens before this one was looked up. */
    tokenVersion: number;
    /** The secret of the cookie it was authenticated with; null: it has a token, or neither. */
    session: string | null;
    /** The id of that sign-in. */
    signInId: string | null;
  }
  interface FastifyContextConfig {
    access?: Access;
    answerHeaders?: Readonly<Record<string, string>>;
    /** A GET that hands out work. */
    claims?: boolean;
    /** Content types of a body that is not JSON. */
    takes?: readonly string[];
    /** Its path has a list in it. */
    takesLists?: boolean;
    evenStopping?: boolean;
  }
}

export interface SignInTools {
  readonly failures: SignInFailures;
  readonly signIns: SignIns;
  readonly tokens: Tokens;
}

/** The check before a route's handler; public routes have none. */
export function authorise(access: Access, { failures, signIns, tokens }: SignInTools) {
  if (access.public) return undefined;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (access.addresses && request.ip && isListed(access.addresses, request.ip)) return;
    if (access.refuseCookies && request.headers.cookie !== undefined)
      throw access.refusals?.cookies() ?? httpError('MUSTER_FORBIDDEN', 'Cookies are not accepted here.');
    request.tokenVersion = tokens.version;
    const caller = takesCookie(request, access)
      ? await authenticateSession(request, reply, { failures, signIns })
      : await authenticate(request, tokens, failures, access);
    if (access.refusals && !access.kinds.includes(caller.kind)) throw access.refusals.token();
    if (caller.kind === 'operator') {
      if (access.role === null) throw httpError('MUSTER_FORBIDDEN', 'Operator tokens are not allowed here.');
      if (caller.role === null || !atLeast(caller.role, access.role))
        throw httpError(
          'MUSTER_FORBIDDEN',
          `This requires the role ${access.role}; the token has the role ${caller.role}.`,
        );
    } else if (!access.kinds.includes(caller.kind))
      throw httpError('MUSTER_FORBIDDEN', `A ${caller.kind} token is not allowed here.`);
    if (access.wholeInstallation && caller.tenantId !== DEFAULT_TENANT)
      throw httpError('MUSTER_FORBIDDEN', 'Only operators of the default tenant may do this.');
    request.caller = caller;
  };
}

/** Only operators have pages. A token takes precedence over any cookie the browser sends along. */
function takesCookie(request: FastifyRequest, access: Extract<Access, { public: false }>): boolean {
  if (access.role === null || access.refuseCookies || access.tokenOnly) return false;
  return request.headers.authorization === undefined && sessionCookies(request).size > 0;
}

async function authenticateSession(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: Pick<SignInTools, 'failures' | 'signIns'>,
): Promise<Caller> {
  refuseCrossSite(request);
  const tenantId = meantTenant(request);
  const secret = sessionCookies(request).get(tenantId);
  if (secret === undefined)
    throw httpError('MUSTER_UNAUTHORIZED', 'This browser is not signed in to this tenant.');
  const signedIn = await findSignIn(request, secret, tools);
  if (signedIn?.caller.tenantId !== tenantId) {
    setSessionCookie(request, reply, tenantId, null);
    throw signInIsOver();
  }
  request.session = secret;
  request.signInId = signedIn.signInId;
  return signedIn.caller;
}

/** The caller signed in with this secret. An unknown one counts as a failure of its address, like an unknown token. */
export async function findSignIn(
  request: FastifyRequest,
  secret: string,
  { failures, signIns }: Pick<SignInTools, 'failures' | 'signIns'>,
): Promise<SignedIn | null> {
  const signedIn = await signIns.find(secret);
  if (!signedIn) countFailure(request.ip, failures);
  return signedIn;
}

function countFailure(ip: string | undefined, failures: SignInFailures): void {
  const retryAfter = failures.count(ip ?? '');
  if (retryAfter > 0)
    throw httpError('MUSTER_TOO_MANY_FAILURES', 'Too many unknown tokens from this address. Wait.', {
      retryAfter,
    });
}

/** The password of `Authorization: Basic`. */
function passwordOf(request: FastifyRequest): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(request.headers.authorization ?? '') ?? [];
  return encoded && /^[^:]*:(\S+)$/.exec(Buffer.from(encoded, 'base64').toString('utf8'))?.[1];
}

export function bearerOf(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  return bearerIn(request.headers.authorization);
}

export const bearerIn = (said: unknown): string | undefined =>
  typeof said === 'string' ? /^Bearer +(\S+) *$/i.exec(said)?.[1] : undefined;

/**
 * The caller whose token it is. Null: unknown, which counts as a failure of this address; throws after too many
 * failures.
 */
export async function callerOf(
  text: string,
  ip: string | undefined,
  { failures, tokens }: Pick<SignInTools, 'failures' | 'tokens'>,
): Promise<Caller | null> {
  const caller = await tokens.authenticate(text);
  if (!caller) countFailure(ip, failures);
  return caller;
}

/**
 * The refusal of an invalid token, in the words of the route. Only a token that was once valid may be told more than an
 * unknown one.
 */
export async function refusalOf(request: FastifyRequest, tokens: Tokens): Promise<MusterError> {
  const { access } = request.routeOptions.config;
  if (request.session !== null) return signInIsOver();
  if (!access || access.public) return unknownToken();
  const former = access.former && (await tokens.former(bearerOf(request) ?? ''));
  const said = former && access.kinds.includes(former.kind) ? await access.former?.(former) : null;
  return said ?? access.refusals?.token() ?? unknownToken();
}

const signInIsOver = () => httpError('MUSTER_UNAUTHORIZED', 'You are signed out. Sign in again.');
const unknownToken = () => httpError('MUSTER_UNAUTHORIZED', 'This token is unknown or revoked.');

async function authenticate(
  request: FastifyRequest,
  tokens: Tokens,
  failures: SignInFailures,
  { basic, refusals }: { readonly basic?: boolean; readonly refusals?: Refusals },
): Promise<Caller> {
  const text = bearerOf(request) ?? (basic ? passwordOf(request) : undefined);
  if (refusals && text === undefined) throw refusals.header();
  if (text === undefined)
    throw httpError(
      'MUSTER_UNAUTHORIZED',
      basic
        ? 'Send a token as the password of "Authorization: Basic".'
        : 'Send a token in the header "Authorization: Bearer <token>".',
    );
  const caller = await callerOf(text, request.ip, { failures, tokens });
  if (caller) return caller;
  throw await refusalOf(request, tokens);
}
