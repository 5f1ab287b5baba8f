import { api } from '@muster/contracts';
import { overloaded } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type GraphQLError, getOperationAST, parse } from 'graphql';
import { createSchema, createYoga, type Plugin } from 'graphql-yoga';
import type { StreamPlaces } from '../../../events/stream-places.ts';
import { operators } from '../../../http/access.ts';
import { defineRoute, type Route } from '../../../http/define-route.ts';
import { drained } from '../../../http/drained.ts';
import { httpError } from '../../../http/errors.ts';
import type { Log } from '../../../http/logging.ts';
import { FOREVER_SECONDS, type LongPolls } from '../../../http/long-poll.ts';
import type { Caller } from '../../../tokens/caller.ts';
import { boundedReads } from './bounded-reads.ts';
import { codedErrors } from './coded-errors.ts';
import { limitRule } from './limits.ts';
import { isTooNested, tooNested } from './nesting.ts';
import { PlainResponse, plainRequest } from './plain-http.ts';
import type { ReadTurns } from './read-turns.ts';
import { type Context, errorOf } from './refusals.ts';
import type { createResolvers } from './resolvers.ts';
import { SDL } from './schema.ts';

/**
 * GraphQL over HTTP: queries and mutations as JSON, subscriptions as server-sent events. Documents seen before are
 * neither parsed nor validated again.
 */
const PATH = '/graphql';
/** Enough for the ten thousand ids of a bulk. */
const BODY_LIMIT = 1_048_576;

export type Yoga = ReturnType<typeof createGraphql>;

export function createGraphql(resolvers: ReturnType<typeof createResolvers>, turns: ReadTurns, log: Log) {
  const limits: Plugin = { onValidate: ({ addValidationRule }) => addValidationRule(limitRule) };
  return createYoga<Context>({
    schema: createSchema({ typeDefs: SDL, resolvers: resolvers as never }),
    graphqlEndpoint: PATH,
    graphiql: false,
    landingPage: false,
    batching: false,
    cors: false,
    multipart: false,
    // the route has read the body, up to its own limit
    maxRequestBodySize: false,
    fetchAPI: { Response: PlainResponse as never },
    plugins: [limits, boundedReads(turns), codedErrors()],
    maskedErrors: { errorMessage: 'Something went wrong in the server. See its log.', isDev: false },
    logging: {
      debug: () => {},
      info: () => {},
      warn: (...said) => log.warn({ said: said.map(String) }, 'A warning of GraphQL.'),
      error: (...said) => log.error({ err: said[0] }, 'An error in GraphQL.'),
    },
  });
}

export function graphqlRoutes(yoga: Yoga, longPolls: LongPolls, places: StreamPlaces): Route[] {
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    asked: { address: string; method: string; body?: object; operation: Operation },
  ): Promise<unknown> {
    // whatever the Accept header says: it is not a valid document
    if (isTooNested(asked.operation.query ?? '')) return reply.code(400).send({ errors: [tooNested()] });
    const said = request.headers.accept ?? 'application/json';
    const streams = isSubscription(asked.operation);
    if (streams && !/text\/event-stream|text\/\*|\*\/\*/i.test(said))
      throw httpError('MUSTER_BAD_REQUEST', 'Subscriptions need "Accept: text/event-stream".');
    // while a status can still be sent
    if (streams) places.enter(caller.tenantId)();
    const accept = streams ? 'text/event-stream' : said;
    const ask = (signal: AbortSignal | null) =>
      yoga.fetch(
        plainRequest({
          ...{ url: `http://muster${asked.address}`, method: asked.method, accept, body: asked.body, signal },
        }),
        { caller, requestId: request.id, log: request.log, signal },
      );
    if (!/text\/event-stream/i.test(accept)) {
      const response = await ask(null);
      if (response.status === 406)
        throw httpError(
          'MUSTER_BAD_REQUEST',
          'The response is application/json. Send "Accept: application/json".',
        );
      if (response.status === 503) throw overloaded(); // in the words of all routes
      reply
        .code(response.status)
        .header('content-type', response.headers.get('content-type') ?? 'application/json');
      return reply.send(await response.text());
    }
    return longPolls
      .run(
        request,
        FOREVER_SECONDS,
        async ({ signal = AbortSignal.abort() }) => pipe(await ask(signal), reply, signal),
        undefined,
      )
      .catch((error) => {
        if (!reply.raw.headersSent) throw error;
        const said = errorOf(error, { id: request.id, reads: true, log: request.log }).error;
        if (reply.raw.writable) reply.raw.write(lastWords(said));
      })
      .finally(() => {
        if (reply.raw.headersSent) reply.raw.end();
      });
  }

  return [
    defineRoute(api.pipeline.graphql, {
      access: operators('viewer'),
      bodyLimit: BODY_LIMIT,
      handler: ({ body, caller, request, reply }) =>
        answer(request, reply, caller, {
          ...{ address: PATH, method: 'POST', body, operation: body },
        }),
    }),
    defineRoute(api.pipeline.graphqlByGet, {
      access: operators('viewer'),
      handler({ caller, query, request, reply }) {
        for (const name of ['variables', 'extensions'] as const) refuseNoObject(name, query[name]);
        return answer(request, reply, caller, { address: request.url, method: 'GET', operation: query });
      },
    }),
  ];
}

interface Operation {
  readonly query?: string | undefined;
  readonly operationName?: string | null | undefined;
}

function isSubscription({ query = '', operationName }: Operation): boolean {
  if (!/\bsubscription\b/.test(query)) return false;
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false; // not a document: its execution reports that
  }
}

function refuseNoObject(name: string, text: string | undefined): void {
  if (text === undefined || text === '') return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw httpError('MUSTER_BAD_REQUEST', `${name} must be a JSON object.`);
}

/** Why a stream ended, in the form clients read: they reconnect after a broken stream, but not after this. */
const lastWords = (error: GraphQLError) =>
  `event: next\ndata: ${JSON.stringify({ errors: [error] })}\n\nevent: complete\ndata:\n\n`;

/** As fast as the client reads, until either side stops. What comes after that is not sent. */
async function pipe(response: Response, reply: FastifyReply, signal: AbortSignal): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(response.status, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': response.headers.get('content-type') ?? 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  const reader = response.body?.getReader();
  if (!reader) {
    raw.write(await response.text());
    return;
  }
  try {
    while (!signal.aborted) {
      // ends with the signal, as its source does: `cancel` would wait for a pending read, up to the next keep-alive
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      if (!raw.write(value)) await drained(raw, signal);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
