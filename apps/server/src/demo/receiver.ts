import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The receiver of webhooks: `/stock` accepts everything, `/shaky` refuses some, `/billing` is gone for good. */
export interface Receiver {
  readonly url: string;
  readonly taken: number;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  let taken = 0;
  let asked = 0;
  const statusOf = (path: string | undefined) => {
    if (path?.startsWith('/billing')) return 410;
    asked += 1;
    return path?.startsWith('/shaky') && asked % 4 === 0 ? 503 : 200;
  };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const status = statusOf(request.url);
      if (status === 200) taken += 1;
      response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get taken() {
      return taken;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
