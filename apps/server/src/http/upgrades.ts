import type { IncomingMessage, Server } from 'node:http';
import type { BlockList } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientAddress } from './client-address.ts';

/** With the address of the client behind the proxies. */
export type Upgrading = IncomingMessage & { readonly ip: string };

/**
 * A path on which a connection may become a WebSocket. The caller authenticates on it: no credentials are read before.
 */
export interface Upgrade {
  readonly path: string;
  take(request: Upgrading, socket: Duplex, head: Buffer): void;
  /** Closes all of them in an orderly way; the rest is cut off. */
  stop(): void;
}

const LONGEST_GOODBYE_MS = 1_000;

export function takeUpgrades(
  server: Server,
  upgrades: readonly Upgrade[],
  trustedProxies: BlockList,
): { stop(): void } {
  const open = new Set<Duplex>();
  let isStopping = false;
  if (upgrades.length > 0)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const found = upgrades.find(({ path }) => path === request.url?.split('?')[0]);
      const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
      if (!found || !isWebSocket || request.method !== 'GET') return passOver(server, request, socket, head);
      if (isStopping) return void socket.destroy();
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      const forwarded = [request.headers['x-forwarded-for']].flat().join(',') || undefined;
      const ip = clientAddress(request.socket.remoteAddress ?? '', forwarded, trustedProxies);
      found.take(Object.assign(request, { ip }), socket, head);
    });
  return {
    stop() {
      isStopping = true;
      for (const upgrade of upgrades) upgrade.stop();
      setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, LONGEST_GOODBYE_MS).unref();
    },
  };
}

/**
 * Upgrades to other protocols may be ignored, and some clients ask for HTTP/2 with every first request. Node has
 * already let go of the connection, with its body: the request is put back without the header and read again.
 */
function passOver(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let n = 0; n < request.rawHeaders.length; n += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(n, n + 2);
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.removeAllListeners('error');
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
