import { useServer } from 'graphql-ws/use/ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Upgrade } from '../../../http/upgrades.ts';
import type { Caller } from '../../../tokens/caller.ts';
import type { Tokens } from '../../../tokens/tokens.ts';
import type { Yoga } from './http.ts';

/**
 * Subscriptions over a WebSocket (graphql-ws). A browser cannot send headers with one, so the token comes with the first message
 * (`connectionParams: { authorization: "Bearer …" }`) or, from others, in the header. A connection ends with its token.
 */
const LONGEST_MESSAGE = 65_536;
const FORBIDDEN = 4403;
const GOING_AWAY = 1001;

export function graphqlUpgrade(yoga: Yoga, tokens: Tokens): Upgrade {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LONGEST_MESSAGE,
    perMessageDeflate: false,
  });
  const callers = new Map<WebSocket, Caller>();
  const send = (socket: WebSocket) => socket.close(FORBIDDEN, 'This token is unknown or revoked.');
  tokens.watch({
    revoked(tenantId, tokenId) {
      for (const [socket, caller] of callers)
        if (caller.tenantId === tenantId && caller.tokenId === tokenId) send(socket);
    },
    // whoever comes back is looked at anew
    missed() {
      for (const socket of callers.keys()) send(socket);
    },
  });

  useServer(
    {
      async onConnect({ connectionParams, extra: { request, socket } }) {
        const given = connectionParams?.authorization ?? request.headers.authorization;
        const [, text] = /^Bearer +(\S+)$/i.exec(typeof given === 'string' ? given : '') ?? [];
        const caller = text === undefined ? null : await tokens.authenticate(text);
        if (caller?.kind !== 'operator' || caller.role === null) return false;
        callers.set(socket, caller);
        return true;
      },
      onDisconnect: ({ extra: { socket } }) => void callers.delete(socket),
      async onSubscribe({ extra: { socket } }, _id, { query, operationName, variables }) {
        const caller = callers.get(socket);
        const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({ caller });
        const document = parse(query);
        const errors = validate(schema, document);
        if (errors.length > 0) return [...errors];
        return {
          ...{ schema, document, operationName, variableValues: variables },
          ...{ contextValue: await contextFactory(), rootValue: { execute, subscribe } },
        };
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
