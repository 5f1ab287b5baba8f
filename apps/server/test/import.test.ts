import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deviceWith } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

type Line = { line: number; id?: string; deviceToken?: string; error?: string };

async function upload(body: string | Buffer, type = 'text/csv'): Promise<Line[]> {
  const response = await fetch(`${t.server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': type },
    body,
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = (await response.text()).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

test('a fleet is imported from CSV; each row is answered with a line', async () => {
  const lines = await upload(
    [
      'externalId,name,tags,expiresAt',
      'csv-1,Till 1,shop;floor 1,2026-09-01T00:00:00Z',
      'csv-2,"Till ""two"", back room",,',
      'csv-7,"not on one',
      'line",,',
      '',
      'csv-3,,shop,',
      'csv-4,Till 4',
      'csv-5,Till 5,,tomorrow',
      'csv-6,Till 6,,\r',
    ].join('\n'),
  );
  expect(lines).toEqual([
    { line: 2, id: expect.any(String), deviceToken: expect.stringMatching(/^mst_device_1_/) },
    { line: 3, id: expect.any(String), deviceToken: expect.any(String) },
    { line: 4, error: 'name has the wrong form.' },
    { line: 7, error: 'name is missing or has the wrong type.' },
    { line: 8, error: 'The row has 2 fields, but the header has 4.' },
    { line: 9, error: 'expiresAt has the wrong form.' },
    { line: 10, id: expect.any(String), deviceToken: expect.any(String) },
  ]);
  for (const { deviceToken } of lines) if (deviceToken) t.secret(deviceToken);
  const device = deviceWith(t, lines[0]?.id as string, lines[0]?.deviceToken as string);
  expect(await device.show()).toMatchObject({
    name: 'Till 1',
    externalId: 'csv-1',
    tags: ['shop', 'floor 1'],
    expiresAt: '2026-09-01T00:00:00.000Z',
  });
  expect((await t.get(`/api/devices/${lines[1]?.id}`)).body.name).toBe('Till "two", back room');
  await device.assign('LOCK');
  expect((await device.checkIn()).action).toMatchObject({ kind: 'LOCK' });
  expect((await device.milestones()).map((m) => m.type)).toEqual(['enrolled', 'assigned', 'sent']);
});

test('a broken upload is sent again: devices are updated, and the old token stays valid until the new one is used', async () => {
  const row = (name: string) => JSON.stringify({ externalId: 'again-1', name, tags: [name] });
  const [first] = await upload(row('before'), 'application/x-ndjson');
  const [second] = await upload(row('after'), 'application/jsonl');
  for (const line of [first, second]) t.secret(line?.deviceToken as string);
  expect(second?.id).toBe(first?.id);
  expect((await t.get(`/api/devices/${first?.id}`)).body).toMatchObject({ name: 'after', tags: ['after'] });
  const [old, anew] = [first, second].map((line) =>
    deviceWith(t, line?.id as string, line?.deviceToken as string),
  );
  await old?.checkIn();
  await anew?.checkIn();
  expect((await t.post('/api/checkin', {}, { token: old?.token as string })).status).toBe(401);
});

test('a known device keeps what its row leaves out; after several imports only the newest token stays valid once used', async () => {
  const rows = [
    'externalId,name,tags,expiresAt,ack\nkeep-1,Till 1,shop;floor,2030-01-01T00:00:00Z,onDelivery',
    'externalId,name,tags,expiresAt,ack\nkeep-1,Till 2,,,',
    'externalId,name\nkeep-1,Till 3',
  ];
  const tokens: string[] = [];
  let id = '';
  for (const [n, row] of rows.entries()) {
    const [line] = await upload(row);
    id = line?.id as string;
    tokens.push(t.secret(line?.deviceToken as string));
    expect((await t.get(`/api/devices/${id}`)).body).toMatchObject({
      name: `Till ${n + 1}`,
      tags: ['shop', 'floor'],
      expiresAt: '2030-01-01T00:00:00.000Z',
      ack: 'onDelivery',
    });
  }
  const use = async (token: string | undefined) =>
    (await t.post('/api/checkin', {}, { token: token as string })).status;
  expect([await use(tokens[0]), await use(tokens[2])]).toEqual([200, 200]);
  expect([await use(tokens[0]), await use(tokens[1])]).toEqual([401, 401]);
  // a hash that it has already is not a new token
  const tokenSha256 = createHash('sha256')
    .update(tokens[2] as string)
    .digest('hex');
  expect(await upload(`externalId,name,tokenSha256\nkeep-1,Till 4,${tokenSha256}`)).toEqual([
    { line: 2, id },
  ]);
  expect(await use(tokens[2])).toBe(200);
  // fields in a row are applied
  const [line] = await upload('externalId,name,tags,ack\nkeep-1,Till 5,;,onReport');
  t.secret(line?.deviceToken as string);
  expect((await t.get(`/api/devices/${id}`)).body).toMatchObject({
    name: 'Till 5',
    tags: [],
    ack: 'onReport',
  });
});

test('a row may have the hash of a token that the device already has', async () => {
  const token = t.secret(`mst_device_1_${'A'.repeat(43)}`);
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  const body = JSON.stringify({ externalId: 'hash-1', name: 'hash', tokenSha256 });
  const [line] = await upload(body, 'application/x-ndjson');
  expect(line).toEqual({ line: 1, id: expect.any(String) });
  expect(await deviceWith(t, line?.id as string, token).checkIn()).toEqual({ action: null, pending: 0 });
  expect(await upload(body, 'application/x-ndjson')).toEqual([line]);
  // of two in one upload the second is refused, and so is a token of another device
  const other = JSON.stringify({ externalId: 'hash-2', name: 'thief', tokenSha256 });
  expect(await upload(other, 'application/x-ndjson')).toEqual([
    { line: 1, error: 'This tokenSha256 is or was already in use.' },
  ]);
  expect((await t.get('/api/devices?text=thief')).body.devices).toEqual([]);
});

test('an expiry is between 1970 and 8999, as everywhere', async () => {
  const row = (expiresAt: string) => JSON.stringify({ name: 'x', expiresAt });
  for (const at of ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59-12:00', '0000-01-01T00:00:00Z'])
    expect(await upload(row(at), 'application/x-ndjson')).toEqual([
      {
        line: 1,
        error: 'expiresAt must be a time from 1970 to 8999, such as 2026-03-01T12:00:00Z.',
      },
    ]);
  const [line] = await upload(row('8999-12-31T23:59:59Z'), 'application/x-ndjson');
  t.secret(line?.deviceToken as string);
  expect((await t.get(`/api/devices/${line?.id}`)).body.expiresAt).toBe('8999-12-31T23:59:59.000Z');
});

test('equal externalIds in one upload are one device', async () => {
  const rows = ['one', 'two', 'three'].map((name) => JSON.stringify({ externalId: 'equal', name }));
  const lines = await upload(rows.join('\n'), 'application/x-ndjson');
  expect(new Set(lines.map(({ id }) => id)).size).toBe(1);
  expect((await t.get(`/api/devices/${lines[0]?.id}`)).body.name).toBe('three');
});

test('an unreadable row gets an error line, and the rows before it stay', async () => {
  expect(await upload('name\ngood\n"open\n')).toEqual([
    { line: 2, id: expect.any(String), deviceToken: expect.any(String) },
    { line: 3, error: 'The row has an unclosed quote.' },
  ]);
  expect(
    await upload(
      '{"name":"a"}\n[1]\n{"name":\n{"name":"b","colour":"red"}\n{"name":"\\u0000"}',
      'application/x-ndjson',
    ),
  ).toEqual([
    { line: 1, id: expect.any(String), deviceToken: expect.any(String) },
    { line: 2, error: 'The line is not an object.' },
    { line: 3, error: 'The line is not valid JSON.' },
    { line: 4, error: 'Unknown field "colour".' },
    { line: 5, error: expect.stringMatching(/name/) },
  ]);
  expect(await upload('', 'application/x-ndjson')).toEqual([]);
  expect(await upload('name\n')).toEqual([]);
  const sentence =
    'Send the body with the header "content-type" and one of "text/csv", "application/x-ndjson", "application/jsonl" or "application/json-lines".';
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain'])
    expect(
      await t.send('POST', '/api/devices/import', 'name\nx\n', { headers: { 'content-type': type } }),
    ).toMatchObject({ status: 400, body: { error: sentence, code: 'MUSTER_BAD_CONTENT_TYPE' } });
  const viewer = await t.token({ kind: 'operator', role: 'viewer', name: 'viewer' });
  expect(
    (
      await t.send('POST', '/api/devices/import', '', {
        token: viewer.token,
        headers: { 'content-type': 'text/csv' },
      })
    ).status,
  ).toBe(403);
});

test.each([
  ['no column name', 'externalId,tags\n1,a\n', 'The header has no column "name".'],
  ['a column twice', 'name,name\na,b\n', 'The header has the same column twice.'],
  ['a quote that never ends', '"name\na\n', 'The row has an unclosed quote.'],
  ['nothing in it', '', 'The upload is empty: its first line must name the columns.'],
  ['bytes that are no text', Buffer.from('name\n\xff\n', 'latin1'), 'The upload is not valid UTF-8.'],
])('an upload with %s is refused as a whole', async (_what, body, error) => {
  const before = (await t.get('/api/audit?limit=1')).body.audit;
  const response = await fetch(`${t.server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': 'text/csv' },
    body,
  });
  expect([response.status, await response.json()]).toEqual([400, { error, code: 'MUSTER_BAD_UPLOAD' }]);
  expect((await t.get('/api/audit?limit=1')).body.audit).toEqual(before); // nothing was changed
  expect(await upload('name\n')).toEqual([]); // and the next one may come at once
});

test('an import is answered during the upload, and a broken upload leaves complete rows', async () => {
  const sending = request(`${t.server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': 'application/x-ndjson' },
  });
  const rows = Array.from({ length: 1_000 }, (_, n) =>
    JSON.stringify({ externalId: `cut-${n}`, name: `cut ${n}` }),
  );
  sending.write(`${rows.join('\n')}\n{"externalId":"cut-last","na`);
  const first = await new Promise<string>((resolve, reject) => {
    sending.on('error', reject);
    sending.on('response', (response) => response.once('data', (data) => resolve(String(data))));
  });
  expect(JSON.parse(first.split('\n')[0] as string)).toMatchObject({ line: 1 });
  sending.on('error', () => {});
  sending.destroy();
  const { body } = await t.get('/api/devices?text=cut-&limit=500');
  expect(body.devices).toHaveLength(500);
  expect((await t.get('/api/devices?text=cut-last')).body.devices).toEqual([]);
});

test('many thousand rows are processed in bounded chunks', async () => {
  const size = 5_000;
  let csv = 'name,externalId,tags\n';
  for (let n = 0; n < size; n += 1) csv += `Bulk ${n},bulk-${n},bulk\n`;
  const lines = await upload(csv);
  expect(lines).toHaveLength(size);
  expect(lines.every((line, n) => line.line === n + 2 && line.deviceToken)).toBe(true);
  expect(new Set(lines.map(({ id }) => id)).size).toBe(size);
  const batch = await t.post('/api/batches', { targets: { tags: ['bulk'] }, action: { kind: 'HELLO' } });
  expect(batch.body.total).toBe(size);
});

test('G64: a tenant has one import at a time', async () => {
  const first = request(`${t.server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': 'application/x-ndjson' },
  });
  const begun = new Promise<NodeJS.ReadableStream>((resolve) => first.once('response', resolve));
  first.write('{}\n'.repeat(1_000)); // a chunk that is answered while the upload goes on
  const answer = await begun;
  const second = await fetch(`${t.server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.operator}`, 'content-type': 'application/x-ndjson' },
    body: JSON.stringify({ name: 'two at once' }),
  });
  expect(second.status).toBe(409);
  expect(await second.json()).toMatchObject({ code: 'MUSTER_IMPORT_RUNNING' });
  first.end();
  let text = '';
  for await (const chunk of answer) text += chunk;
  expect(text.split('\n').filter(Boolean)).toHaveLength(1_000);
  expect(await upload(JSON.stringify({ name: 'the next' }), 'application/x-ndjson')).toHaveLength(1);
});
