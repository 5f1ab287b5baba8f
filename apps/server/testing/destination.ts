import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the destination received. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Respond = (response: ServerResponse, request: Arrived) => void;

/** A user's server that requests are sent to: keeps them, and answers as configured for the path, with 200 by default. */
export async function startDestination() {
  const arrived: Arrived[] = [];
  const responds = new Map<string, Respond>();
  const held = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const one = {
        ...{ method: request.method ?? '', path: request.url ?? '', headers: request.headers },
        body: Buffer.concat(parts).toString(),
      };
      arrived.push(one);
      const respond = responds.get(one.path.split('?')[0] as string);
      if (respond) respond(response, one);
      else response.end('thanks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    arrived,
    of: (path: string) => arrived.filter((one) => one.path === path),
    on: (path: string, respond: Respond) => void responds.set(path, respond),
    /** Requests to this path wait until they are released. */
    hold: (path: string) => void responds.set(path, (response) => void held.add(response)),
    letGo() {
      for (const response of held) response.end('at last');
      held.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Destination = Awaited<ReturnType<typeof startDestination>>;
