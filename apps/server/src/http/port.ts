import { once } from 'node:events';
import { createServer } from 'node:net';

/** Throws what listening would throw: better before the database is opened than after. */
export async function checkPort(host: string, port: number): Promise<void> {
  const probe = createServer();
  probe.listen(port, host);
  await once(probe, 'listening');
  await new Promise((resolve) => probe.close(resolve));
}
