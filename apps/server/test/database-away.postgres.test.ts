import { expect, test } from 'vitest';
import { startCluster } from '../../../testing/postgres-cluster.mjs';
import { readConfig } from '../src/config.ts';
import { startServer } from '../src/main.ts';

test('while the database is away requests get a 503 with Retry-After, and afterwards all is well', async () => {
  const cluster = await startCluster();
  const operator = 'operator-token-of-this-test-0123456789';
  const lines: string[] = [];
  const server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: cluster.url,
      MUSTER_OPERATOR_TOKEN: operator,
      MUSTER_LOG_LEVEL: 'info',
    }),
    { logStream: { write: (line) => void lines.push(line) } },
  );
  const ask = (path: string, body?: object) =>
    fetch(server.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const enqueue = () => ask('/api/lanes/x/actions', { kind: 'x' });
  try {
    expect((await enqueue()).status).toBe(201);
    await cluster.down('immediate');
    const away = await enqueue();
    expect(away.status).toBe(503);
    expect(await away.json()).toMatchObject({ code: 'MUSTER_DATABASE_AWAY' });
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
    await expect.poll(async () => (await ask('/readyz')).status, { timeout: 10_000 }).toBe(503);
    expect((await ask('/healthz')).status).toBe(200);
    await cluster.up();
    await expect.poll(async () => (await enqueue()).status, { timeout: 20_000 }).toBe(201);
    await expect.poll(async () => (await ask('/readyz')).status, { timeout: 10_000 }).toBe(200);
    expect(lines.join('')).not.toContain(operator);
  } finally {
    await server.stop();
    await cluster.stop();
  }
});
