import { GraphQLError, getOperationAST } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Shell } from '../../../feature.ts';
import { bearerIn, callerOf } from '../../../http/auth.ts';
import { httpError } from '../../../http/errors.ts';
import { requestId } from '../../../http/request-id.ts';
import type { Upgrade, Upgrading } from '../../../http/upgrades.ts';
import type { Caller } from '../../../tokens/caller.ts';
import type { Yoga } from './http.ts';
import { errorOf } from './refusals.ts';

/**
 * Operations over a WebSocket (graphql-ws). A browser cannot send headers with one, so the token comes with the first
 * message (`connectionParams: { authorization: "Bearer …" }`) or, from other clients, in the header. A connection ends
 * with its token: the token is checked before every operation, and a client that does not hang up is cut off.
 */
const LONGEST_MESSAGE = 65_536;
const FORBIDDEN = 4403;
const TOO_MANY_FAILURES = 4429;
const GOING_AWAY = 1001;
const LONGEST_GOODBYE_MS = 1_000;

type Tools = Pick<Shell, 'failures' | 'log' | 'tokens'>;

type Extra = { readonly request: Upgrading };

const NO_OPERATION = { code: 'OPERATION_RESOLUTION_FAILURE' };

/** With a code as over HTTP, without the status, which only HTTP has. */
const told = (errors: readonly GraphQLError[], code?: string) =>
  errors.map((error) => {
    const { http: _, ...extensions } = error.extensions;
    return new GraphQLError(error.message, {
      ...{ nodes: error.nodes ?? null, source: error.source ?? null },
      ...{ positions: error.positions ?? null, path: error.path ?? null },
      extensions: { ...(code === undefined ? {} : { code }), ...extensions },
    });
  });

export function graphqlUpgrade(yoga: Yoga, tools: Tools): Upgrade {
  const { log, tokens } = tools;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LONGEST_MESSAGE,
    perMessageDeflate: false,
  });
  const known = new Map<WebSocket, { readonly caller: Caller; readonly text: string }>();

  function sendAway(socket: WebSocket, code = FORBIDDEN, why = 'This token is unknown or revoked.'): void {
    known.delete(socket);
    socket.close(code, why);
    const cutOff = setTimeout(() => socket.terminate(), LONGEST_GOODBYE_MS);
    socket.once('close', () => clearTimeout(cutOff));
  }
  tokens.watch({
    revoked(tenantId, tokenId) {
      for (const [socket, { caller }] of known)
        if (caller.tenantId === tenantId && caller.tokenId === tokenId) sendAway(socket);
    },
    // clients that reconnect are checked again
    missed() {
      for (const socket of known.keys()) sendAway(socket);
    },
  });

  /** The caller of a connection, if its token is still valid. */
  async function callerNow(socket: WebSocket): Promise<Caller> {
    const before = known.get(socket);
    const caller = before && (await tokens.authenticate(before.text));
    if (caller && known.has(socket)) return caller;
    if (before) sendAway(socket);
    throw httpError('MUSTER_UNAUTHORIZED', 'This token is unknown or revoked.');
  }

  useServer<Record<string, unknown>, Extra>(
    {
      async onConnect({ connectionParams, extra: { request, socket } }) {
        const text = bearerIn(connectionParams?.authorization ?? request.headers.authorization);
        try {
          const caller = text === undefined ? null : await callerOf(text, request.ip, tools);
          if (text === undefined || caller?.kind !== 'operator' || caller.role === null) return false;
          known.set(socket, { caller, text });
          return true;
        } catch (error) {
          const { code, message } = errorOf(error, { id: requestId(request), reads: true, log });
          sendAway(socket, code === 'MUSTER_TOO_MANY_FAILURES' ? TOO_MANY_FAILURES : GOING_AWAY, message);
          return false;
        }
      },
      onClose: ({ extra: { socket } }) => void known.delete(socket),
      async onSubscribe({ extra: { request, socket } }, _id, { query, operationName, variables }) {
        const id = requestId(request);
        try {
          const context = { caller: await callerNow(socket), requestId: id, log };
          const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped(context);
          const document = parse(query);
          const errors = validate(schema, document);
          if (errors.length > 0) return told(errors, 'GRAPHQL_VALIDATION_FAILED');
          if (!getOperationAST(document, operationName))
            return [
              new GraphQLError('There is no such operation in the document.', { extensions: NO_OPERATION }),
            ];
          return {
            ...{ schema, document, operationName, variableValues: variables },
            ...{ contextValue: await contextFactory(), rootValue: { execute, subscribe } },
          };
        } catch (error) {
          return error instanceof GraphQLError
            ? told([error], 'GRAPHQL_PARSE_FAILED')
            : [errorOf(error, { id, reads: true, log }).error];
        }
      },
      onNext: (_context, _id, _payload, _args, { data, errors }) =>
        errors && {
          ...(data === undefined ? {} : { data }),
          errors: told(errors).map((error) => error.toJSON()),
        },
      // biome-ignore lint/suspicious/noExplicitAny: what onSubscribe has put there
      execute: (args: any) => args.rootValue.execute({ ...args, rootValue: undefined }),
      // biome-ignore lint/suspicious/noExplicitAny: the same
      subscribe: (args: any) => args.rootValue.subscribe({ ...args, rootValue: undefined }),
    },
    sockets,
  );

  return {
    path: '/graphql',
    take: (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (opened) => sockets.emit('connection', opened, request)),
    stop() {
      for (const socket of sockets.clients) socket.close(GOING_AWAY, 'The server is stopping.');
    },
  };
}
