import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDestination } from '../testing/destination.ts';
import { type Running, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** The real server, killed between the hand-out of an action and the report of the device. */
const OPERATOR = 'operator-token-of-the-crash-tests-0123456789';
const folder = temporaryFolder();
let environment: Record<string, string>;
let drop = async () => {};
let server: Running;

beforeAll(async () => {
  const database = await processDatabase(folder.path);
  drop = database.drop;
  environment = {
    ...database.environment,
    ...{ MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'warn', MUSTER_ORDER_SECONDS: '1' },
    ...{ MUSTER_OUTGOING_ALLOW: '127.0.0.1', MUSTER_SECRETS_KEY: Buffer.alloc(32, 'key').toString('base64') },
  };
  server = await serve(environment);
});
afterAll(async () => {
  await server.stop();
  await drop();
  folder.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
async function post(path: string, body: object, token = OPERATOR): Promise<any> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
async function get(path: string): Promise<any> {
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${OPERATOR}` } });
  return response.json();
}

async function crash(): Promise<void> {
  await server.stop('SIGKILL');
  server = await serve(environment);
}

test('nothing is lost when the server is killed between hand-out and report', async () => {
  const { id, deviceToken } = await post('/api/devices', { name: 'Tablet' });
  const first = await post(`/api/devices/${id}/actions`, { kind: 'LOCK', moreDays: 1 });
  const second = await post(`/api/devices/${id}/actions`, { kind: 'LOCK_MSG' });
  const { action } = await post('/api/checkin', {}, deviceToken);
  expect(action).toMatchObject({ id: first.id, attempt: 1 });

  await crash();
  // whether or not the response reached the device, it gets the same action again or reports it
  const again = await post('/api/checkin', {}, deviceToken);
  expect(again).toMatchObject({
    action: { id: first.id, attempt: 1, leaseUntil: action.leaseUntil, redelivered: true },
    pending: 1,
  });
  const result = { actionId: action.id, attempt: 1, status: 'done' };
  const done = await post('/api/checkin', { result }, deviceToken);
  expect(done).toMatchObject({
    result: { accepted: true, status: 'done' },
    action: { id: second.id, attempt: 1 },
  });

  await crash();
  expect(await post('/api/checkin', { result }, deviceToken)).toMatchObject({
    result: { accepted: true, status: 'done' },
    action: { id: second.id, attempt: 1, redelivered: true },
  });
});

test('a batch that was being supplied when the server was killed is supplied completely and only once', async () => {
  const rows = Array.from({ length: 3_000 }, (_, n) =>
    JSON.stringify({ name: `device ${n}`, externalId: `x-${n}`, tags: ['batch'] }),
  );
  const imported = await fetch(`${server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  expect((await imported.text()).trim().split('\n')).toHaveLength(3_000);
  const { id } = await post('/api/batches', { targets: { tags: ['batch'] }, action: { kind: 'HELLO' } });
  await crash();
  const look = async () => {
    const response = await fetch(`${server.url}/api/batches/${id}`, {
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
    return ((await response.json()) as { counts: Record<string, number> }).counts;
  };
  let counts = await look();
  while ((counts.waiting ?? 0) > 0) counts = await look();
  expect(counts).toMatchObject({ waiting: 0, pending: 3_000 });
});

test('G83: orders that bots held when the server was killed are complete after the restart, and the bots are idle', async () => {
  const bots = [(await post('/api/bots', {})).id, (await post('/api/bots', {})).id];
  for (let n = 0; n < 3; n += 1) await post('/api/orders', { type: 'NORMAL' });
  for (const id of bots) expect((await post(`/api/bots/${id}/claim`, {})).status).toBe('PROCESSING');
  await crash();
  const statuses = async () =>
    (await get('/api/orders')).orders.map(({ status }: { status: string }) => status);
  await expect.poll(statuses).toEqual(['PENDING', 'COMPLETE', 'COMPLETE']);
  expect((await get('/api/bots')).bots).toMatchObject([{ status: 'IDLE' }, { status: 'IDLE' }]);
  // and again, right after a claim was answered
  expect((await post(`/api/bots/${bots[0]}/claim`, {})).status).toBe('PROCESSING');
  await crash();
  await expect.poll(statuses).toEqual(['COMPLETE', 'COMPLETE', 'COMPLETE']);
});

test('G84: a callback that was accepted before the server was killed is delivered after the restart', async () => {
  const shop = await startDestination();
  shop.hold('/held');
  for (const path of ['/waits', '/held'])
    await fetch(`${server.url}/v2/publish/http://127.0.0.1:${shop.port}${path}`, {
      method: 'POST',
      // the other goes to the same destination, so it waits for the lease of this one too
      headers: {
        authorization: `Bearer ${OPERATOR}`,
        'upstash-delay': path === '/waits' ? '1s' : '0s',
        'upstash-timeout': '1s',
      },
      body: path,
    });
  // one waits, the other is in flight
  await expect.poll(() => shop.of('/held').length).toBe(1);
  await crash();
  await expect.poll(() => shop.of('/waits').map(({ body }) => body)).toEqual(['/waits']);
  await expect.poll(() => shop.of('/held').length).toBeGreaterThan(1);
  await shop.close();
});

test('G86: a server that is killed between its read of the feed and the commit of what follows sends everything after the restart', async () => {
  const them = await startDestination();
  const gate = new pg.Client({ connectionString: environment.DATABASE_URL as string });
  await gate.connect();
  try {
    const url = `http://127.0.0.1:${them.port}/hook`;
    await post('/api/webhooks', { url, events: ['action.created'], filter: { kinds: ['crash'] } });
    // the one that has read a page waits inside its transaction
    await gate.query('begin');
    await gate.query('lock table muster.webhook_deliveries in share mode');
    const made: string[] = [];
    for (const lane of ['a', 'b', 'c'])
      made.push((await post(`/api/lanes/${lane}/actions`, { kind: 'crash' })).id);
    const waiting = `select 1 from pg_locks where relation = 'muster.webhook_deliveries'::regclass and not granted`;
    await expect.poll(async () => (await gate.query(waiting)).rowCount).toBe(1);
    await server.stop('SIGKILL');
    expect(them.arrived).toEqual([]);
    await gate.query('rollback');
    server = await serve(environment);
    await expect.poll(() => them.arrived.length).toBe(3);
    const told = them.arrived.map(({ body }) => JSON.parse(body).data.actionId);
    expect(told.sort()).toEqual(made.sort());
  } finally {
    await gate.end();
    await them.close();
  }
});
