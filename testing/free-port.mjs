import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which the system picks ports for outgoing connections: while the server is down
 * for a restart, a client that keeps trying could otherwise be given the very port it is trying to reach.
 */
export async function freePort() {
  for (;;) {
    const port = 20_000 + (randomBytes(2).readUInt16LE() % 10_000);
    const probe = createServer();
    const free = await new Promise((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
