import { testDatabase } from '@muster/engine/testing';
import pg from 'pg';
import { expect, test } from 'vitest';
import { startCluster } from '../../../testing/postgres-cluster.mjs';
import { readConfig } from '../src/config.ts';
import { startServer } from '../src/main.ts';
import { TcpProxy } from '../testing/torture/tcp-proxy.ts';

const OPERATOR = 'operator-token-of-this-test-0123456789';

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
  const lines: string[] = [];
  const server = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: url.href,
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_LOG_LEVEL: 'info',
    }),
    { logStream: { write: (line) => void lines.push(line) } },
  );
  const ask = (path: string, body?: object) =>
    fetch(server.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const enqueue = () => ask('/api/lanes/x/actions', { kind: 'x' });
  try {
    expect((await enqueue()).status).toBe(201);
    // as an old primary that is a standby by now: it answers, and accepts nothing
    await sql('alter system set default_transaction_read_only = on');
    await sql('select pg_reload_conf()');
    await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
    expect((await enqueue()).status).toBe(503);
    await sql('alter system reset default_transaction_read_only');
    await sql('select pg_reload_conf()');
    await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
    await expect.poll(async () => (await enqueue()).status).toBe(201);
    await cluster.down('immediate');
    const away = await enqueue();
    expect(away.status).toBe(503);
    // a request whose connection broke cannot know the outcome
    const { code } = (await away.json()) as { code: string };
    expect(['MUSTER_DATABASE_AWAY', 'MUSTER_NO_ANSWER']).toContain(code);
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
    await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
    expect((await ask('/healthz')).status).toBe(200);
    // refused connections: the server knows that nothing was changed
    const refused: string[] = [];
    await expect
      .poll(async () => {
        const kind = `refused ${refused.length}`;
        const answer = await ask('/api/lanes/z/actions', { kind });
        const { code: why } = (await answer.json()) as { code: string };
        if (why === 'MUSTER_DATABASE_AWAY') refused.push(kind);
        return refused.length;
      })
      .toBeGreaterThan(5);
    const logged = () => lines.join('');
    await expect.poll(logged).toContain('"The database does not answer: ');
    await cluster.up();
    await expect.poll(async () => (await enqueue()).status).toBe(201);
    await expect.poll(logged).toContain('"The database answers again, after ');
    await ask('/api/lanes/z/actions', { kind: 'afterwards' });
    const { actions } = (await (await ask('/api/actions?lane=z&space=generic')).json()) as {
      actions: { kind: string }[];
    };
    const kinds = actions.map(({ kind }) => kind);
    expect(kinds).toContain('afterwards');
    for (const kind of refused) expect(kinds).not.toContain(kind);
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
    expect(lines.join('')).not.toContain(OPERATOR);
    const said = lines.map((line) => JSON.parse(line) as { msg: string; err?: { stack?: string } });
    const outages = said.filter(({ msg }) =>
      /^The database (does not answer:|answers again, after)/.test(msg),
    );
    expect(outages.map(({ msg }) => msg.includes('again'))).toEqual(outages.map((_, n) => n % 2 === 1));
    expect(said.filter(({ msg }) => msg.includes('could not be read'))).toEqual([]);
    expect(said.filter(({ err }) => err?.stack?.includes('ECONNREFUSED'))).toEqual([]);
  } finally {
    await server.stop();
    await cluster.stop();
  }
});

test('a change whose answer from the database is lost gets a code that says so, and it was carried out', async () => {
  const database = await testDatabase({ migrated: false });
  const url = new URL(database.url as string);
  const line = await TcpProxy.start();
  line.aimAt(Number(url.port));
  url.port = String(line.port);
  const t = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: url.href,
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_LOG_LEVEL: 'silent',
    }),
  );
  const ask = async (path: string, body?: object, token = OPERATOR) => {
    const answer = await fetch(t.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    // biome-ignore lint/suspicious/noExplicitAny: any of these answers
    return { status: answer.status, body: JSON.parse((await answer.text()) || '{}') as any };
  };
  try {
    const { agentToken } = (await ask('/api/hosts', { name: 'web-1' })).body;
    const lost: string[] = [];
    const stored = async () =>
      (await ask('/api/actions?lane=lost&space=generic&limit=500')).body.actions ?? [];
    // which of its connections a request takes is not known: on one, even the question for its token may be lost
    await expect
      .poll(async () => {
        const kind = `lost ${lost.length}`;
        line.cutHalfWay(1);
        const { body, status } = await ask('/api/lanes/lost/actions', { kind });
        if (status !== 201) expect(body.code).toBe('MUSTER_NO_ANSWER');
        if (status !== 201) lost.push(kind);
        return (await stored()).some((one: { kind: string }) => lost.includes(one.kind));
      })
      .toBe(true);
    // a GET that only reads changes nothing, but the agents' queue hands out work
    for (const [path, code] of [
      ['running', 'MUSTER_DATABASE_AWAY'],
      ['queue', 'MUSTER_NO_ANSWER'],
    ])
      await expect
        .poll(async () => {
          line.cutHalfWay(1);
          return (await ask(`/api/control/${path}`, undefined, agentToken)).body.code;
        })
        .toBe(code);
  } finally {
    await t.stop();
    await line.close();
    await database.drop();
  }
});
