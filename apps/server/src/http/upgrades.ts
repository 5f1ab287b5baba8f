import type { IncomingMessage, Server } from 'node:http';
import type { BlockList } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientAddress } from './client-address.ts';

/** With the address of whoever is behind the proxies. */
export type Upgrading = IncomingMessage & { readonly ip: string };

/** A path on which a connection may become a WebSocket. Who the caller is, is asked on it: nothing is read before. */
export interface Upgrade {
  readonly path: string;
  take(request: Upgrading, socket: Duplex, head: Buffer): void;
  /** Says goodbye on all of them; what is left is cut off. */
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
 * A wish to go over to another protocol may be passed over, and some clients wish for HTTP/2 with every first request. Node has let
 * go of the connection by then, body and all: the request is put back without the wish and read anew.
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
