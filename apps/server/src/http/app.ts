import type { BlockList } from 'node:net';
import { EngineError } from '@muster/engine';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import type { SignIns } from '../tokens/sign-ins.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { authorise } from './auth.ts';
import { boundBodies } from './body-room.ts';
import { takeBytes } from './bytes-body.ts';
import { isListed } from './client-address.ts';
import { answerClientError, answerOddRequests } from './client-error.ts';
import { methodsOf, type Route } from './define-route.ts';
import { errorReply } from './error-reply.ts';
import { httpError, pathTooLong } from './errors.ts';
import { InHand } from './in-hand.ts';
import { unstorable, useJsonBodies } from './json-body.ts';
import { schemaForAjv } from './json-schema.ts';
import { withoutInfo } from './logging.ts';
import { REQUEST_ID, requestId } from './request-id.ts';
import type { SignInFailures } from './sign-in-failures.ts';
import { type Tls, tlsOptions } from './tls.ts';
import { settleUnreadBodies, type UnreadLimits } from './unread-body.ts';
import { takeUpgrades, type Upgrade } from './upgrades.ts';
import { compileValidator } from './validation.ts';
import { type NotOffered, WrongMethods } from './wrong-method.ts';

/**
 * The HTTP server: routes in, JSON out, everything bounded. Closed by default: a route registered without an access
 * rule, by any code, stops the start.
 */
const BODY_LIMIT = 1_048_576;
/** A lane's name may have 200 characters, each up to twelve in a path (%F0%9F%9A%80). */
const LONGEST_PARAMETER = 2_400;
/**
 * For routes with a list in their path: a thousand ids of 40 characters. The limit of the whole head is larger, to
 * leave room for the rest.
 */
const LONGEST_LIST = 45_000;
/** After this time open connections are cut off. */
export const LONGEST_STOP_MS = 10_000;
/** A missing Host is refused with our own error. */
const HEADS = { headersTimeout: 10_000, maxHeaderSize: 65_536, requireHostHeader: false };
/** How much of an unwanted body is read, and for how long, before the connection is closed. */
const UNREAD: UnreadLimits = { bytes: 65_536, ms: 5_000 };

export interface AppOptions {
  readonly log: Logger;
  readonly tokens: Tokens;
  readonly signIns: SignIns;
  readonly routes: readonly Route[];
  readonly notOffered?: readonly NotOffered[];
  /** Answers paths that are not routes. */
  readonly pages?: { answer(request: FastifyRequest, reply: FastifyReply): boolean } | undefined;
  /** Protocols other than HTTP that connections may be upgraded to. */
  readonly upgrades?: readonly Upgrade[];
  readonly failures: SignInFailures;
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: BlockList;
  /** For tests: overrides the time to read refused bodies. */
  readonly refusedBodyMs?: number | undefined;
  /** For tests: overrides the time for a body to arrive. */
  readonly bodyMs?: number | undefined;
  /** Null: plain HTTP. */
  readonly tls?: Tls | null;
  /** How much memory the bodies of unanswered requests may hold together. */
  readonly mostBodyBytes: number;
  /** The node is about to stop: no connection is kept for another request. */
  readonly isDraining?: () => boolean;
  /** Called for every answered request. */
  readonly onAnswer?: (route: string, method: string, status: number, seconds: number) => void;
}

export interface App {
  readonly fastify: FastifyInstance;
  /** Every route that Fastify has registered, by any code. */
  readonly registered: readonly { readonly method: string; readonly path: string }[];
  /**
   * Refuses new requests with 503, closes the port once those in progress are answered, and resolves then. A balancer
   * that finds the port closed may cut the requests that it has sent here, so it stays open as long as there are any.
   */
  close(): Promise<void>;
}

export function createApp(options: AppOptions): App {
  const wrongMethods = new WrongMethods(options.routes, options.notOffered);
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    childLoggerFactory: () => options.log as FastifyBaseLogger, // a logger per request is not worth its cost: our lines name the request themselves
    clientErrorHandler: answerClientError,
    logController: new LogController({ disableRequestLogging: true }), // one line of ours instead, at debug
    exposeHeadRoutes: false, // HEAD runs a GET handler only where its route says so: some of them claim
    forceCloseConnections: 'idle',
    // no hook runs for these requests; their body is not read
    frameworkErrors: (error, request, reply) => {
      const headers = {
        ...wrongMethods.headersOf(request.url),
        [REQUEST_ID]: request.id,
        connection: 'close',
      };
      void errorReply(error, request, reply.headers(headers) as never);
    },
    genReqId: requestId,
    // A request must arrive whole within 10 minutes, because the import of a fleet is read as fast as it can be stored
    // (a body is read only after its token was checked), its head within 10 s, a body of JSON within 30 s; how long its
    // answer takes is up to the route (long polls take 25 s). Idle connections live longer than the 60 s of most
    // proxies, so the proxies hang up first.
    ...(options.tls
      ? { https: { ...HEADS, ...tlsOptions(options.tls) } as never } // typed as a plain server, which is all the code needs
      : { http: HEADS }),
    keepAliveTimeout: 75_000,
    loggerInstance: withoutInfo(options.log) as FastifyBaseLogger,
    requestTimeout: 600_000,
    return503OnClosing: false,
    routerOptions: { maxParamLength: LONGEST_LIST },
    trustProxy:
      options.trustedProxies.rules.length > 0
        ? (address: string) => isListed(options.trustedProxies, address)
        : false,
  });
  let refusing = false;
  const inHand = new InHand();
  const registered: { method: string; path: string }[] = [];

  app.decorateRequest('caller', null);
  app.decorateRequest('countedIn', null);
  app.decorateRequest('tokenVersion', 0);
  app.decorateRequest('session', null);
  app.decorateRequest('signInId', null);
  app.setErrorHandler(errorReply);
  app.setValidatorCompiler(compileValidator as never);
  useJsonBodies(app);
  answerOddRequests(app.server);
  const upgrades = takeUpgrades(app.server, options.upgrades ?? [], options.trustedProxies);
  app.addHook('onRoute', (route) => {
    if (!route.config?.access)
      throw new Error(`The route ${route.method} ${route.url} has no access rule and is not registered.`);
    registered.push(...[route.method].flat().map((method) => ({ method, path: route.url })));
  });
  app.setNotFoundHandler((request, reply) => wrongMethods.answer(request, reply));
  // Hooks with a callback: one that returns a promise costs every request a turn of the event loop.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id);
    const { answerHeaders } = request.routeOptions.config;
    if (answerHeaders) reply.headers(answerHeaders);
    if (refusing && !request.routeOptions.config.evenStopping) {
      reply.header('connection', 'close');
      return done(new EngineError('MUSTER_STOPPING', 'The server is stopping. Try again.'));
    }
    request.countedIn = inHand.add(request.raw.socket);
    // a balancer may send its next request over a kept connection at the very moment when it is closed
    if (options.isDraining?.()) reply.header('connection', 'close');
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      reply.header('connection', 'close');
      return done(httpError('MUSTER_BAD_REQUEST', 'The Host header is missing.'));
    }
    if (!request.routeOptions.config.takesLists && hasLongParameter(request.params)) {
      reply.header('connection', 'close');
      return done(pathTooLong());
    }
    // Here, because the handler for unknown paths runs only after the body was read, even without a token.
    if (request.is404) {
      if (options.pages?.answer(request, reply)) return;
      wrongMethods.answer(request, reply);
    }
    return done();
  });
  const unread = { ...UNREAD, ms: options.refusedBodyMs ?? UNREAD.ms };
  app.addHook('onSend', settleUnreadBodies(unread));
  boundBodies(app, { bytes: options.mostBodyBytes, ms: options.bodyMs });
  app.addHook('preValidation', (request, _reply, done) => {
    // A missing body counts as an empty one; the schema names what is missing in it.
    request.body ??= {};
    if (hasNul(request.params) || hasNul(request.query)) return done(unstorable('address'));
    return done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.countedIn) request.countedIn.unanswered -= 1;
    const route = request.routeOptions.url ?? 'unknown';
    options.onAnswer?.(route, request.method, reply.statusCode, reply.elapsedTime / 1_000);
    if (options.log.isLevelEnabled('debug'))
      request.log.debug(
        {
          reqId: request.id,
          method: request.method,
          url: withoutTokens(request.url),
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
        },
        'Answered.',
      );
    done();
  });
  for (const route of options.routes) {
    if (route.bytes)
      void app.register(async (apart) => {
        takeBytes(apart);
        register(apart, route, options);
      });
    else if (!route.takes) register(app, route, options);
    else
      void app.register(async (apart) => {
        // Only this route takes such bodies, and it reads them itself.
        apart.removeAllContentTypeParsers();
        apart.addContentTypeParser([...(route.takes ?? [])], (_request, _payload, done) => done(null));
        register(apart, route, options);
      });
  }
  return {
    fastify: app,
    registered,
    async close() {
      refusing = true;
      upgrades.stop();
      const until = performance.now() + LONGEST_STOP_MS;
      await inHand.none(LONGEST_STOP_MS);
      // A connection that becomes idle during the stop would stay open for its 75 s; one that never does is cut off.
      const closing = setInterval(() => {
        if (performance.now() < until) app.server.closeIdleConnections();
        else app.server.closeAllConnections();
      }, 50);
      await app.close();
      clearInterval(closing);
    },
  };
}

function register(app: FastifyInstance, route: Route, options: AppOptions): void {
  const check = authorise(route.access, options);
  app.route({
    method: methodsOf(route),
    url: route.path,
    config: {
      access: route.access,
      ...(route.answerHeaders ? { answerHeaders: route.answerHeaders } : {}),
      ...(route.claims ? { claims: true } : {}),
      ...(route.takes ? { takes: route.takes } : {}),
      ...(route.takesLists ? { takesLists: true } : {}),
      ...(route.evenStopping ? { evenStopping: true } : {}),
    },
    ...(route.bodyLimit ? { bodyLimit: route.bodyLimit } : {}),
    ...(check ? { onRequest: check } : {}),
    schema: {
      ...(route.body ? { body: schemaForAjv(route.body) } : {}),
      ...(route.query ? { querystring: schemaForAjv(route.query) } : {}),
      ...(route.params ? { params: schemaForAjv(route.params) } : {}),
    },
    handler: (request, reply) =>
      route.handler({
        body: request.body,
        query: request.query,
        params: request.params,
        caller: request.caller as never, // null on public routes only, whose handlers do not read it
        request,
        reply,
      }),
  });
}

const hasLongParameter = (params: unknown) =>
  Object.values(params as Record<string, string>).some((value) => value.length > LONGEST_PARAMETER);

/** Clients sometimes put a token into an address, where it does not belong. The query is left out. */
function withoutTokens(url: string): string {
  return (url.split('?')[0] as string).replaceAll(/mst_[^/]*/g, 'mst_…');
}

function hasNul(part: unknown): boolean {
  for (const key in part as object) {
    const value = (part as Record<string, unknown>)[key];
    if (key.includes('\u0000') || (typeof value === 'string' && value.includes('\u0000'))) return true;
  }
  return false;
}
