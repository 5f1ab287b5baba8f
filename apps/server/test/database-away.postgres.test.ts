import pg from 'pg';
import { expect, test } from 'vitest';
import { startCluster } from '../../../testing/postgres-cluster.mjs';
import { readConfig } from '../src/config.ts';
import { startServer } from '../src/main.ts';

test('G39: while the database is away requests get 503 with Retry-After; afterwards everything works, also for waiting requests', async () => {
  const cluster = await startCluster();
  const sql = async (text: string) => {
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  await sql(`create role node superuser login password 'node'`);
  const url = new URL(cluster.url);
  url.username = 'node';
  url.password = 'node';
  const operator = 'operator-token-of-this-test-0123456789';
  const lines: string[] = [];
  const server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: url.href,
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
    // a request whose connection broke cannot know the outcome
    const { code } = (await away.json()) as { code: string };
    expect(['MUSTER_DATABASE_AWAY', 'MUSTER_NO_ANSWER']).toContain(code);
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
    await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
    expect((await ask('/healthz')).status).toBe(200);
    await cluster.up();
    await expect.poll(async () => (await enqueue()).status).toBe(201);
    await expect.poll(async () => (await ask('/readyz')).status).toBe(200);

    // the node finds the database again only after something was queued there, of which it was not notified
    const { id } = (await (await ask('/api/lanes/y/actions', { kind: 'before' })).json()) as { id: string };
    await ask('/api/lanes/y/claim', { worker: 'w' });
    await ask(`/api/actions/${id}/report`, { attempt: 1, status: 'succeeded' });
    const waiting = ask('/api/lanes/y/claim', { worker: 'w', wait: 25 });
    while (server.engine.parkedWaiters < 1) await new Promise((resolve) => setImmediate(resolve));
    await ask('/api/lanes/y/claim', { worker: 'v' }); // looks after that one has looked
    await sql('alter role node nologin');
    await cluster.restart('immediate');
    await sql(
      `select muster.enqueue(1, lane_id, 'while it was away') from muster.lane_names where name = 'y'`,
    );
    await sql('alter role node login');
    expect(await (await waiting).json()).toMatchObject({ actions: [{ kind: 'while it was away' }] });
    expect(lines.join('')).not.toContain(operator);
  } finally {
    await server.stop();
    await cluster.stop();
  }
});
