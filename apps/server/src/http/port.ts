import { once } from 'node:events';
import { createServer } from 'node:net';

/** Throws the error that listening would throw, but before the database is opened. */
export async function checkPort(host: string, port: number): Promise<void> {
  const probe = createServer();
  probe.listen(port, host);
  await once(probe, 'listening');
  await new Promise((resolve) => probe.close(resolve));
}
