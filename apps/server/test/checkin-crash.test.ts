import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Running, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** The real server, killed without a warning between the hand-out of an action and the report of the device. */
const OPERATOR = 'operator-token-of-the-crash-tests-0123456789';
const folder = temporaryFolder();
let environment: Record<string, string>;
let drop = async () => {};
let server: Running;

beforeAll(async () => {
  const database = await processDatabase(folder.path);
  drop = database.drop;
  environment = { ...database.environment, MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'warn' };
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
  // the device did not hear of it, or did: it gets the same one again, or reports it
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

test('a batch that was being supplied when the server was killed is supplied once and wholly', async () => {
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
