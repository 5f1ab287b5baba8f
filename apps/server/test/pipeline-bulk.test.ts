import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Transaction } from '@muster/engine';
import { settledUpTo } from '@muster/engine/testing';
import { Client, fetchExchange, gql } from '@urql/core';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import * as ws from 'ws';
import { WebSocket } from 'ws';
import { type Assigned, createAssign } from '../src/features/pipeline/assign.ts';
import { createChanges } from '../src/features/pipeline/changes.ts';
import { createDeviceQueries } from '../src/features/pipeline/device-queries.ts';
import { createDispatcher } from '../src/features/pipeline/dispatch.ts';
import { createExecutionQueries } from '../src/features/pipeline/execution-queries.ts';
import { createTemplates } from '../src/features/pipeline/templates.ts';
import { completed } from '../testing/echo-fleet.ts';
import { type PipelineStage, pipelineStage } from '../testing/pipeline-stage.ts';

let p: PipelineStage;
beforeAll(async () => {
  p = await pipelineStage({ settings: { MUSTER_BULK_ROLE: 'admin' } });
});
afterAll(() => p.t.close());

const [LOCK, UNLOCK, SEND, LOCK_MESSAGE] = [5, 6, 7, 8];
const BULK = `mutation ($deviceIds: [ID!]!, $actionId: ID!, $idempotencyKey: String) {
  assignBulkAction(deviceIds: $deviceIds, actionId: $actionId, idempotencyKey: $idempotencyKey) {
    batchId valid { deviceId executionId } failed { deviceId code message } } }`;
const BATCH = `query ($id: ID!) { batch(id: $id) { status total pending success failed devices(first: 50) { nodes { deviceId status errorCode executionId } } } }`;
const ASSIGN = `mutation ($deviceId: ID!, $actionId: ID!, $phoneNumber: String, $idempotencyKey: String) {
  assignAction(deviceId: $deviceId, actionId: $actionId, phoneNumber: $phoneNumber, idempotencyKey: $idempotencyKey) { batchId } }`;
const report = async (text: string) => (await p.t.engine.db.query({ text })).rows;

test('G75: of two assignments to one device at the same moment, exactly one is refused as busy', async () => {
  p.echo.answer = () => null;
  const device = await p.active();
  const [one, other] = await Promise.all([p.refusal(device.id, LOCK), p.refusal(device.id, LOCK)]);
  expect([one, other].filter(Boolean)).toEqual(['DEVICE_BUSY']);
  await expect.poll(() => p.commandsOf(device.udid).length).toBe(1);
  // a running action makes it busy too; with QUEUE the action is queued behind it, if it will be allowed then
  expect(await p.refusal(device.id, UNLOCK)).toBe('DEVICE_BUSY');
  expect(await p.refusal(device.id, LOCK, { whenBusy: 'QUEUE' })).toBe('INVALID_TRANSITION');
  const unlock = await p.assign(device.id, UNLOCK, { whenBusy: 'QUEUE' });
  p.echo.answer = (command) => ({
    ...{ event_type: 'ACTION_COMPLETED', command_uuid: command.command_uuid, udid: device.udid, payload: {} },
  });
  const [lock] = p.commandsOf(device.udid);
  await p.echo.say({
    ...{
      event_type: 'ACTION_COMPLETED',
      command_uuid: lock?.command_uuid as string,
      udid: device.udid,
      payload: {},
    },
  });
  await p.settled(unlock.executionId);
  expect(await p.policy(device.id)).toBe('active');
});

/** The assignments of a server, as another node on this database would make them. */
function otherNode() {
  const { bus, engine, fleet } = p.echo.shell;
  let looks = 0;
  const counting = (tx: Transaction): Transaction => ({
    ...tx,
    query(query) {
      if (query.name === 'muster_pipeline_lock_free') looks += 1;
      return tx.query(query);
    },
  });
  const db: typeof engine.db = {
    ...engine.db,
    transaction: (run, limits) => engine.db.transaction((tx) => run(counting(tx)), limits),
  };
  const devices = createDeviceQueries(engine);
  const executions = createExecutionQueries(engine.schema, engine.now);
  const templates = createTemplates(engine.schema, engine.now);
  const dispatcher = createDispatcher({ bus, devices, engine, executions, fleet, timeoutMs: 60_000 });
  const assign = createAssign({ devices, dispatcher, engine, executions, fleet, templates });
  const { assignAction } = createChanges({ ...p.echo.shell, db, assign, dispatcher, templates });
  const by = 'other node';
  const caller = { tenantId: 1, name: by, tokenId: null, kind: 'operator', role: 'admin' } as never;
  const common = { offline: 'QUEUE', whenBusy: 'REJECT', priority: 'NORMAL' } as const;
  return {
    /** How often it tried to lock a device without waiting. */
    looks: () => looks,
    assign: (deviceId: string, actionId: number) =>
      assignAction(caller, { ...common, deviceId, actionId: String(actionId) }),
    /** Like a bulk assignment: it waits for the device. */
    async waitAndAssign(deviceId: string, actionId: number) {
      const nothing = { messageTemplateId: null, phoneNumber: null };
      const assignment = { ...common, ...nothing, deviceIds: [deviceId], actionId: String(actionId) };
      const answers = await engine.db.transaction(
        (tx) => assign(tx, 1, [{ by, assignment }], { waits: true }),
        { lockMs: 0 },
      );
      const [{ failed }] = answers as [Assigned];
      if (failed[0]) throw failed[0];
    },
  };
}
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    ({ code }: { code: string }) => code,
  );

/** Another transaction holds the device while this runs. */
async function whileHeld<T>(deviceId: string, happens: (outside: pg.Client) => Promise<T>): Promise<T> {
  const outside = new pg.Client(p.t.databaseUrl as string);
  await outside.connect();
  try {
    await outside.query('begin');
    await outside.query(`select 1 from muster.devices where device_id = ${deviceId} for no key update`);
    return await happens(outside);
  } finally {
    await outside.query('commit');
    await outside.end();
  }
}

test('G75: of assignments to one device at several nodes, alone or in a bulk, exactly one is not refused as busy', async () => {
  p.echo.answer = () => null;
  const device = await p.active();
  const [here, there] = [otherNode(), otherNode()];
  const asked = await whileHeld(device.id, async (outside) => {
    const begun = [
      here.waitAndAssign(device.id, LOCK),
      here.assign(device.id, LOCK),
      there.assign(device.id, LOCK),
    ];
    // no transaction has seen what another does: the first waits for the device, the others come back to it
    await expect.poll(() => here.looks() > 0 && there.looks() > 0).toBe(true);
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await expect.poll(async () => (await outside.query(waiting)).rows.length).toBe(1);
    return begun.map(codeOf);
  });
  expect((await Promise.all(asked)).filter(Boolean)).toEqual(['DEVICE_BUSY', 'DEVICE_BUSY']);
  await expect.poll(() => p.commandsOf(device.udid).length).toBe(1);
});

test('G75: simultaneous assignments are one transaction, each with its own answer; a locked device delays no other', async () => {
  p.echo.answer = completed;
  const [good, other, held] = [await p.active(), await p.active(), await p.active()];
  const uploaded = await p.device();
  const { assign } = otherNode();
  const [waiting, answers] = await whileHeld(held.id, async () => {
    const last = codeOf(assign(held.id, LOCK));
    const all = await Promise.allSettled([
      ...[assign(good.id, LOCK), assign(other.id, LOCK), assign(uploaded, LOCK), assign('4711', LOCK)],
      ...[assign(good.id, LOCK), assign(good.id, 99), assign(other.id, SEND)],
    ]);
    return [[last], all] as const;
  });
  expect(await waiting[0]).toBeNull();
  const told = answers.map((one) => (one.status === 'rejected' ? one.reason.code : one.value.status));
  expect(told).toEqual([
    ...['PENDING', 'PENDING', 'INVALID_TRANSITION', 'DEVICE_NOT_FOUND'],
    // of those for one device the second comes after the first
    ...['DEVICE_BUSY', 'ACTION_NOT_FOUND', 'TEMPLATE_REQUIRED'],
  ]);
  const batches = answers
    .slice(0, 4)
    .map((one) => (one.status === 'rejected' ? one.reason.batchId : one.value.batchId));
  const [{ transactions }] = await report(
    `select count(distinct xmin::text)::int as transactions from muster.batches where batch_id in (${batches})`,
  );
  expect(transactions).toBe(1);
  const lines =
    await report(`select detail->>'refused' as refused from muster.audit where actor = 'other node'
    and detail->>'batchId' in (${batches.map((id) => `'${id}'`)}) order by audit_id`);
  expect(lines.map(({ refused }) => refused)).toEqual([
    ...[null, null, 'INVALID_TRANSITION', 'DEVICE_NOT_FOUND'],
  ]);
});

test('G75: a refused assignment is a batch of one with a failed row; an invalid request leaves nothing', async () => {
  const uploaded = await p.device();
  const ask = async (more: object) =>
    (await p.t.post('/graphql', { query: ASSIGN, variables: more })).body.errors;
  const [refusal] = await ask({ deviceId: uploaded, actionId: '5', idempotencyKey: 'r1' });
  expect(refusal).toMatchObject({
    message: 'The policy of the device is uploaded; Lock needs active.',
    extensions: { code: 'INVALID_TRANSITION', batchId: expect.any(String) },
  });
  const { batchId } = refusal.extensions;
  const { batch } = await p.ask(BATCH, { id: batchId });
  expect(batch).toEqual({
    ...{ status: 'COMPLETED', total: 1, pending: 0, success: 0, failed: 1 },
    devices: {
      nodes: [{ deviceId: uploaded, status: 'FAILED', errorCode: 'INVALID_TRANSITION', executionId: null }],
    },
  });
  expect((await p.t.get(`/api/batches/${batchId}`)).body).toMatchObject({ total: 1, counts: { refused: 1 } });
  expect(
    await report(`select b.status, d.device_id, d.status as row, d.error_code from muster_reports.batch_actions b
      join muster_reports.batch_device_actions d on d.tenant_id = b.tenant_id and d.batch_id = b.id where b.id = ${batchId}`),
  ).toEqual([{ status: 'COMPLETED', device_id: uploaded, row: 'FAILED', error_code: 'INVALID_TRANSITION' }]);
  // repeated, it is the same refusal; another device with this key is another request
  expect(await ask({ deviceId: uploaded, actionId: '5', idempotencyKey: 'r1' })).toMatchObject([
    { extensions: { code: 'INVALID_TRANSITION', batchId } },
  ]);
  const [unknown] = await ask({ deviceId: 'none', actionId: '5' });
  expect((await p.ask(BATCH, { id: unknown.extensions.batchId })).batch.devices.nodes).toMatchObject([
    { deviceId: 'none', status: 'FAILED', errorCode: 'DEVICE_NOT_FOUND' },
  ]);

  const [{ last }] = await report('select max(batch_id) as last from muster.batches');
  for (const [more, code] of [
    [{ deviceId: '1', actionId: '5', idempotencyKey: 'r1' }, 'MUSTER_IDEMPOTENCY_MISMATCH'],
    [{ deviceId: '1', actionId: '99', idempotencyKey: 'r2' }, 'ACTION_NOT_FOUND'],
    [{ deviceId: '1', actionId: '7' }, 'TEMPLATE_REQUIRED'],
    [{ deviceId: '1', actionId: '3' }, 'NOT_ASSIGNABLE'],
    [{ deviceId: '1', actionId: '5', phoneNumber: '1'.repeat(101) }, 'MUSTER_BAD_REQUEST'],
    [{ deviceId: '1', actionId: '5', idempotencyKey: 'é' }, 'MUSTER_BAD_REQUEST'],
  ] as const)
    expect(await ask(more)).toMatchObject([{ extensions: { code } }]);
  const viewer = (await p.t.token({ kind: 'operator', role: 'viewer', name: 'v2' })).token;
  expect(await p.codesOf(ASSIGN, { deviceId: uploaded, actionId: '5' }, viewer)).toEqual([
    'MUSTER_FORBIDDEN',
  ]);
  expect(await report('select max(batch_id) as last from muster.batches')).toEqual([{ last }]);
  // a key that created nothing is free
  expect(await ask({ deviceId: uploaded, actionId: '5', idempotencyKey: 'r2' })).toMatchObject([
    { extensions: { code: 'INVALID_TRANSITION' } },
  ]);
});

test('G75: a bulk is valid or failed per device, and its batch has a row for every requested device', async () => {
  const [first, second] = [await p.active(), await p.active()];
  const uploaded = await p.device();
  const asked = [first.id, uploaded, '999999', 'no id', second.id, first.id];
  const { assignBulkAction: bulk } = await p.ask(BULK, {
    deviceIds: asked,
    actionId: '5',
    idempotencyKey: 'b1',
  });
  expect(bulk.valid.map((one: { deviceId: string }) => one.deviceId)).toEqual([first.id, second.id]);
  expect(bulk.failed.map((one: { deviceId: string; code: string }) => [one.deviceId, one.code])).toEqual([
    [uploaded, 'INVALID_TRANSITION'],
    ['999999', 'DEVICE_NOT_FOUND'],
    ['no id', 'DEVICE_NOT_FOUND'],
  ]);
  for (const { executionId } of bulk.valid) await p.settled(executionId);
  const { batch } = await p.ask(BATCH, { id: bulk.batchId });
  expect(batch).toMatchObject({ status: 'COMPLETED', total: 5, pending: 0, success: 2, failed: 3 });
  expect(
    batch.devices.nodes.map((row: { status: string; errorCode: string }) => row.errorCode ?? row.status),
  ).toEqual([...['SUCCESS', 'INVALID_TRANSITION', 'DEVICE_NOT_FOUND', 'DEVICE_NOT_FOUND', 'SUCCESS']]);
  // the same batch, in the list of all batches
  expect((await p.t.get(`/api/batches/${bulk.batchId}`)).body).toMatchObject({
    ...{ status: 'completed', total: 5, counts: { done: 2, refused: 3 } },
  });
  // repeated, it creates nothing
  const again = await p.ask(BULK, { deviceIds: asked, actionId: '5', idempotencyKey: 'b1' });
  expect(again.assignBulkAction.batchId).toBe(bulk.batchId);
  expect(again.assignBulkAction.valid).toEqual(bulk.valid);
  expect(p.commandsOf(first.udid)).toHaveLength(1);
  expect(await p.codesOf(BULK, { deviceIds: [first.id], actionId: '5', idempotencyKey: 'b1' })).toEqual([
    'MUSTER_IDEMPOTENCY_MISMATCH',
  ]);

  expect(
    await report(
      `select status, total, success, failed from muster_reports.batch_actions where id = ${bulk.batchId}`,
    ),
  ).toEqual([{ status: 'COMPLETED', total: 5, success: 2, failed: 3 }]);
  expect(
    await report(`select e.status, e.action_id from muster_reports.batch_device_actions b
      join muster_reports.action_executions e on e.tenant_id = b.tenant_id and e.id = b.execution_id where b.batch_id = ${bulk.batchId}`),
  ).toEqual([
    { status: 'ACTION_COMPLETED', action_id: 5 },
    { status: 'ACTION_COMPLETED', action_id: 5 },
  ]);
});

test('a bulk has 10,000 devices at most and needs the configured role; roles apply to all changes', async () => {
  const operator = (await p.t.token({ kind: 'operator', role: 'operator', name: 'o' })).token;
  const viewer = (await p.t.token({ kind: 'operator', role: 'viewer', name: 'v' })).token;
  const many = Array.from({ length: 10_001 }, (_, n) => String(n + 1));
  expect(await p.codesOf(BULK, { deviceIds: many, actionId: '5' })).toEqual(['TOO_MANY_DEVICES']);
  expect(await p.codesOf(BULK, { deviceIds: ['1'], actionId: '5' }, operator)).toEqual(['MUSTER_FORBIDDEN']);
  const assign = 'mutation { assignAction(deviceId: 1, actionId: 5) { batchId } }';
  expect(await p.codesOf(assign, {}, viewer)).toEqual(['MUSTER_FORBIDDEN']);
  expect(await p.codesOf('{ actionTypes { id } }', {}, viewer)).toEqual([]);
  expect((await p.t.post('/graphql', { query: '{ actionTypes { id } }' }, { token: null })).status).toBe(401);
});

test("G76: concurrent readers of an action's executions get each once, and a document that multiplies them costs too much", async () => {
  const register = await p.assign(await p.device(), 2);
  const one = `execution(id: "${register.executionId}") { action { executions { id } } }`;
  const answers = await Promise.all([1, 2, 3, 4].map(() => p.ask(`{ ${one} again: ${one} }`)));
  const mine = { action: { executions: [{ id: register.executionId }] } };
  expect(answers).toEqual(Array(4).fill({ execution: mine, again: mine }));

  const nested = 'action{executions{action{executions{action{executions{id}}}}}}';
  const aliases = (count: number) =>
    Array.from({ length: count }, (_, n) => `a${n}:execution(id:"${register.executionId}"){${nested}}`);
  expect(await p.codesOf(`{ ${aliases(8).join(' ')} }`)).toEqual(['QUERY_TOO_COSTLY']);
  const last = '{ execution(id: 1) { action { executions(last: 101) { id } } } }';
  expect(await p.codesOf(last.replace('1)', `"${register.executionId}")`))).toEqual(['MUSTER_BAD_REQUEST']);
});

test('G76: documents read four at a time however much they ask for, and one too many of a token gets 503', async () => {
  const { token } = await p.t.token({ kind: 'operator', role: 'viewer', name: 'greedy' });
  const { db } = p.echo.shell;
  const query = db.query.bind(db);
  let [reading, most] = [0, 0];
  let release = () => {};
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  // a gate before the database: nothing is read until it opens
  const gate = vi.spyOn(db, 'query').mockImplementation(async (asked) => {
    if (!asked.text.includes('message_templates where')) return query(asked);
    reading += 1;
    most = Math.max(most, reading);
    await open;
    return query(asked).finally(() => {
      reading -= 1;
    });
  });
  const ask = (fields: number, by = token) => {
    const aliases = Array.from({ length: fields }, (_, n) => `a${n}: messageTemplates(first: 1) { cursor }`);
    return p.t.post('/graphql', { query: `{ ${aliases.join(' ')} }` }, { token: by });
  };
  onTestFinished(() => {
    gate.mockRestore();
    release();
  });
  const greedy = [ask(100), ...Array.from({ length: 200 }, () => ask(1))];
  // the others cannot end: any answer is a refusal
  expect(await Promise.race(greedy)).toMatchObject({
    ...{ status: 503, body: { code: 'MUSTER_OVERLOADED' } },
  });
  expect((await p.t.get('/api/devices?limit=1')).status).toBe(200);
  await expect.poll(() => reading).toBe(4);
  const colleague = ask(1, p.t.operator);
  release();
  expect((await colleague).status).toBe(200);
  expect((await Promise.all(greedy)).filter(({ status }) => status === 200)).toHaveLength(200);
  expect(most).toBe(4);
});

test('G76: a document that fails early reads nothing more, and the log does not mention its other fields', async () => {
  const { token } = await p.t.token({ kind: 'operator', role: 'viewer', name: 'hasty' });
  const { db } = p.echo.shell;
  const query = db.query.bind(db);
  let [begun, release] = [0, () => {}];
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  const gate = vi.spyOn(db, 'query').mockImplementation(async (asked) => {
    if (!asked.text.includes('message_templates where')) return query(asked);
    begun += 1;
    await open;
    return query(asked);
  });
  onTestFinished(() => {
    gate.mockRestore();
    release();
  });
  const fields = Array.from({ length: 30 }, (_, n) => `a${n}: messageTemplates(first: 1) { cursor }`);
  const early = `{ bad: batches(after: "\\u0000") { cursor } ${fields.join(' ')} }`;
  const logged = p.t.log().length;
  for (let n = 0; n < 3; n += 1)
    expect((await p.t.post('/graphql', { query: early }, { token })).body.data).toBeNull();
  expect(begun).toBeLessThanOrEqual(4);
  const before = begun;
  const next = p.t.post('/graphql', { query: '{ messageTemplates(first: 1) { cursor } }' }, { token });
  release();
  expect((await next).body.data.messageTemplates).toEqual({ cursor: null });
  expect(begun).toBe(before + 1);
  expect(p.t.log().slice(logged)).not.toContain('The request ');
});

test('templates are sent to the device unchanged, and only active ones', async () => {
  const phone = await p.active();
  const { createMessageTemplate } = await p.ask(
    'mutation { createMessageTemplate(name: "hello", content: "Bring it back, {name}.") { id content isActive } }',
  );
  expect(createMessageTemplate).toMatchObject({ content: 'Bring it back, {name}.', isActive: true });
  const template = createMessageTemplate.id;
  expect(await p.refusal(phone.id, SEND)).toBe('TEMPLATE_REQUIRED');
  expect(await p.refusal(phone.id, SEND, { messageTemplateId: '999' })).toBe('TEMPLATE_NOT_FOUND');
  const { executionId } = await p.assign(phone.id, LOCK_MESSAGE, {
    messageTemplateId: template,
    phoneNumber: '1',
  });
  await p.settled(executionId);
  const copied = (await p.execution(executionId)).action.id;
  expect((await p.t.post(`/api/actions/${copied}/copy`, {})).body).toMatchObject({
    ...{ code: 'MUSTER_NOT_COPIED', error: expect.stringContaining('assignAction') },
  });
  expect(p.commandsOf(phone.udid).at(-1)).toMatchObject({
    ...{
      request_type: 'DeviceLock',
      command_payload: { Message: 'Bring it back, {name}.', PhoneNumber: '1' },
    },
  });
  const sent = await p.assign(phone.id, SEND, { messageTemplateId: template });
  await p.settled(sent.executionId);
  expect(p.commandsOf(phone.udid).at(-1)).toMatchObject({ request_type: 'SendMessage' });
  expect(await p.policy(phone.id)).toBe('locked');
  expect(await report('select name, is_active from muster_reports.message_templates')).toEqual([
    { name: 'hello', is_active: true },
  ]);
  const off = `mutation { setMessageTemplateActive(id: "${template}", isActive: false) { isActive } }`;
  expect((await p.ask(off)).setMessageTemplateActive.isActive).toBe(false);
  expect(await p.refusal(phone.id, SEND, { messageTemplateId: template })).toBe('TEMPLATE_INACTIVE');
  expect(await p.refusal(phone.id, 3)).toBe('NOT_ASSIGNABLE');
  expect(await p.refusal(phone.id, 11)).toBe('ACTION_NOT_FOUND');
});

test('G76: public clients: urql queries, graphql-sse and graphql-ws receive every outcome, of one device or of all', async () => {
  const [device, another] = [await p.active(), await p.device()];
  const { url } = p.t.server;
  const headers = { authorization: `Bearer ${p.t.operator}` };
  const urql = new Client({
    url: `${url}/graphql`,
    exchanges: [fetchExchange],
    fetchOptions: { headers },
    preferGetMethod: false,
  });
  const page = await urql.query(
    gql`query ($n: Int) { devices(first: $n) { nodes { id policy isBusy } cursor } }`,
    { n: 1 },
  );
  expect(page.error).toBeUndefined();
  expect(page.data.devices).toMatchObject({
    nodes: [{ isBusy: false }],
    cursor: expect.any(String),
  });
  const dear = await urql.query(gql`{ devices(first: 1001) { nodes { id } } }`, {});
  expect(dear.error?.graphQLErrors[0]?.extensions.code).toBe('QUERY_TOO_COSTLY');

  const query =
    'subscription ($id: ID) { deviceStateChanged(deviceId: $id) { deviceId policy previousPolicy executionId status failedReason at } }';
  const [bySse, byWs, others]: unknown[][] = [[], [], []];
  const sse = createSseClient({ url: `${url}/graphql`, headers });
  const ws = createWsClient({
    ...{ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket },
    connectionParams: { authorization: `Bearer ${p.t.operator}` },
  });
  const into = (list: unknown[] | undefined) => ({
    next: (value: { data?: unknown }) =>
      void list?.push((value.data as { deviceStateChanged: unknown }).deviceStateChanged),
    error: (error: unknown) => void list?.push(error),
    complete: () => {},
  });
  const streams = p.echo.shell.events.followers;
  await settledUpTo(p.t.engine.db); // they begin behind what is settled
  sse.subscribe({ query, variables: { id: device.id } }, into(bySse));
  ws.subscribe({ query }, into(byWs));
  sse.subscribe({ query, variables: { id: another } }, into(others));
  await expect.poll(() => p.echo.shell.events.followers).toBe(streams + 3);

  const lock = await p.assign(device.id, LOCK);
  const state = {
    ...{ deviceId: device.id, policy: 'locked', previousPolicy: 'active', executionId: lock.executionId },
    ...{ status: 'ACTION_COMPLETED', failedReason: null, at: p.t.clock().toISOString() },
  };
  await expect.poll(() => bySse).toEqual([state]);
  await expect.poll(() => byWs).toEqual([state]);
  expect(others).toEqual([]);

  p.echo.answer = () => null;
  const unlock = await p.assign(device.id, UNLOCK);
  await expect.poll(() => p.commandsOf(device.udid).length).toBe(2);
  await p.t.pass(60_000);
  const timedOut = { ...state, policy: 'locked', previousPolicy: 'locked', executionId: unlock.executionId };
  await expect
    .poll(() => byWs?.at(-1))
    .toEqual({
      ...timedOut,
      status: 'ACTION_FAILED',
      failedReason: 'device_timeout',
      at: p.t.clock().toISOString(),
    });
  await expect.poll(() => bySse?.length).toBe(2);

  sse.dispose();
  await ws.dispose();
  await expect.poll(() => p.echo.shell.events.followers).toBe(streams);
});

test('a WebSocket without a valid token is closed, and so is one whose token is revoked; other upgrades are ignored', async () => {
  const address = `${p.t.server.url.replace('http', 'ws')}/graphql`;
  const closed = (token: string, onOpen?: () => void) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(address, 'graphql-transport-ws');
      socket.on('open', () => {
        socket.send(
          JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }),
        );
      });
      socket.on('message', () => onOpen?.());
      socket.on('close', resolve);
      socket.on('error', () => {});
    });
  expect(await closed('nonsense')).toBe(4403);
  const { id, token } = await p.t.token({ kind: 'operator', role: 'viewer', name: 'ws' });
  expect(await closed(token, () => void p.t.del(`/api/tokens/${id}`))).toBe(4403);
  // Node detaches a connection whose client asks for another protocol: the request is parsed again, with its body
  const query = `{ actionTypes { id } }${' '.repeat(10_000)}`;
  const [answer] = await new Promise<[string]>((resolve, reject) => {
    const wish = request(
      `${p.t.server.url}/graphql`,
      {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${p.t.operator}`, 'content-type': 'application/json' },
          ...{ connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' },
        },
      },
      (response) => text(response).then((body) => resolve([body]), reject),
    );
    wish.on('error', reject).end(JSON.stringify({ query }));
  });
  expect(JSON.parse(answer).data.actionTypes).toHaveLength(10);
});

/** A connection that has authenticated. */
async function opened(token: string): Promise<WebSocket> {
  const socket = new WebSocket(`${p.t.server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  await new Promise((resolve) => socket.once('open', resolve));
  const acknowledged = new Promise((resolve) => socket.once('message', resolve));
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }));
  await acknowledged;
  return socket;
}
/** Exported, but missing in the types. */
const { Sender } = ws as unknown as { Sender: { frame(data: Buffer, options: object): Buffer[] } };
const operation = (id: string, query: string, variables: object = {}) =>
  JSON.stringify({ id, type: 'subscribe', payload: { query, variables } });

test('G76: a WebSocket that continues after its token was revoked is ignored and cut off', async () => {
  const device = await p.device();
  const { id, token } = await p.t.token({ kind: 'operator', role: 'operator', name: 'goes on' });
  const socket = await opened(token);
  // from here on it ignores everything from the server, closing frames too
  const { _socket: raw } = socket as unknown as { _socket: import('node:net').Socket };
  raw.removeAllListeners('data');
  let bytes = 0;
  raw.on('data', (data) => {
    bytes += data.length;
  });
  const gone = new Promise((resolve) => raw.once('close', resolve));
  await p.t.del(`/api/tokens/${id}`);
  await expect.poll(() => bytes).toBeGreaterThan(0);
  const message = operation('1', `mutation { assignAction(deviceId: ${device}, actionId: 2) { status } }`);
  const frame = { fin: true, opcode: 1, mask: true, readOnly: false, rsv1: false };
  for (const part of Sender.frame(Buffer.from(message), frame)) raw.write(part);
  await gone;
  expect(await p.policy(device)).toBe('uploaded');
});

test('G76: an invalid operation gets an error on the WebSocket, which stays open', async () => {
  const socket = await opened(p.t.operator);
  const told = (query: string, variables: object = {}) =>
    new Promise<{ message: string; extensions?: { code?: string } }[]>((resolve) => {
      const id = `${Math.random()}`;
      socket.on('message', (data) => {
        const said = JSON.parse(String(data));
        if (said.id === id && said.type !== 'complete') resolve(said.payload.errors ?? said.payload);
      });
      socket.send(operation(id, query, variables));
    });
  const nodes = 'id name policy udid serial model tags isBusy osVersion createdAt';
  for (const [document, extensions] of [
    ['{', { code: 'GRAPHQL_PARSE_FAILED' }],
    ['{ nothing }', { code: 'GRAPHQL_VALIDATION_FAILED' }],
    ['fragment f on Device { id }', { code: expect.any(String) }],
    [`{ devices(first: 100) { nodes { ${nodes} } } }`, { code: 'QUERY_TOO_COSTLY' }],
  ] as const) {
    const [said] = await told(document);
    expect([document, said?.extensions]).toEqual([document, extensions]);
  }
  const named = await told('query a { actionTypes { id } } query b { actionTypes { id } }');
  expect(named).toMatchObject([{ extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }]);
  const create = 'mutation ($k: String!) { createMessageTemplate(name: $k, content: $k) { id } }';
  for (const k of ['a\u0000', 'a\ud800b'])
    expect(await told(create, { k })).toMatchObject([{ extensions: { code: 'MUSTER_BAD_TEXT' } }]);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.close();
});

test('G76: invalid requests are refused with a code, in the URL, in the document and in its values', async () => {
  for (const name of ['variables', 'extensions'])
    expect(await p.t.get(`/graphql?query=%7B__typename%7D&${name}=%7B`)).toMatchObject({
      ...{ status: 400, body: { code: 'MUSTER_BAD_REQUEST' } },
    });
  const device = await p.device();
  const register = `mutation { assignAction(deviceId: ${device}, actionId: 2, offline: null, whenBusy: null, priority: null) { status } }`;
  for (const odd of ['0x2', ' 2.0 ', '1e1'])
    expect(await p.codesOf(register.replace('actionId: 2', `actionId: "${odd}"`))).toEqual([
      'ACTION_NOT_FOUND',
    ]);
  for (const [document, code] of [
    ['mutation { createMessageTemplate(name: "a\\u0000", content: "b") { id } }', 'MUSTER_BAD_TEXT'],
    ['{ devices(search: "\\u0000") { cursor } }', 'MUSTER_BAD_TEXT'],
    ['mutation { createMessageTemplate(name: "a", content: "") { id } }', 'MUSTER_BAD_REQUEST'],
    [
      `mutation { createMessageTemplate(name: "${'a'.repeat(201)}", content: "b") { id } }`,
      'MUSTER_BAD_REQUEST',
    ],
    ['{ devices(after: "garbage") { cursor } }', 'MUSTER_BAD_REQUEST'],
    [`{ devices(search: "${'a'.repeat(1_001)}") { cursor } }`, 'MUSTER_BAD_REQUEST'],
    ['mutation { createMessageTemplate(name: " ", content: "b") { id } }', 'MUSTER_BAD_REQUEST'],
    ['mutation { createMessageTemplate(name: "a", content: "b\\u0001") { id } }', 'MUSTER_BAD_REQUEST'],
    [
      `mutation { assignAction(deviceId: ${device}, actionId: 8, phoneNumber: "1\\u0001") { status } }`,
      'MUSTER_BAD_REQUEST',
    ],
    ['{ executions(after: "1") { cursor } }', 'MUSTER_BAD_REQUEST'],
  ] as const)
    expect([document, await p.codesOf(document)]).toEqual([document, [code]]);
  const byBrowser = `${p.t.server.url}/graphql?query=%7B__typename%7D`;
  const headers = { authorization: `Bearer ${p.t.operator}`, accept: 'text/html' };
  expect(await (await fetch(byBrowser, { headers })).json()).toMatchObject({ code: 'MUSTER_BAD_REQUEST' });
  const inParts = await fetch(byBrowser, { headers: { ...headers, accept: 'multipart/mixed' } });
  expect(await inParts.text()).toContain('{"__typename":"Query"}');
  expect((await p.ask(register)).assignAction.status).toBe('COMPLETED');
  const nobody =
    '{ device(id: 0) { id } execution(id: 0) { id } batch(id: 0) { id } messageTemplate(id: 0) { id } }';
  expect(await p.ask(nobody)).toEqual({ device: null, execution: null, batch: null, messageTemplate: null });
  const { actionTypes } = await p.ask('{ actionTypes { id isAssignable } }');
  const others = actionTypes.filter((type: { isAssignable: boolean }) => !type.isAssignable);
  expect(others.map(({ id }: { id: string }) => id)).toEqual(['1', '3', '4']);
});

test('G76: a subscription is a stream for any client, and refused with a status if there is no place', async () => {
  const query = 'subscription { deviceStateChanged { deviceId } }';
  const { events, streamPlaces } = p.echo.shell;
  const [followers, places] = [events.followers, streamPlaces.count];
  const follow = (accept: string, signal?: AbortSignal, token = p.t.operator) =>
    fetch(`${p.t.server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept },
      body: JSON.stringify({ query }),
      ...(signal ? { signal } : {}),
    });
  const free = () => expect.poll(() => [events.followers, streamPlaces.count]).toEqual([followers, places]);
  // heartbeats would not help: with one every twelve seconds, a place was freed that much later
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const client = new AbortController();
  const response = await follow('*/*', client.signal);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  await expect.poll(() => events.followers).toBe(followers + 1);
  client.abort();
  await free();
  const { id, token } = await p.t.token({ kind: 'operator', role: 'viewer', name: 'followed' });
  const revoked = await follow('text/event-stream', undefined, token);
  await expect.poll(() => events.followers).toBe(followers + 1);
  await p.t.del(`/api/tokens/${id}`);
  const [, said, over] = (await revoked.text()).split('\n\n');
  expect(JSON.parse(said?.replace('event: next\ndata: ', '') ?? '')).toEqual({
    errors: [{ message: expect.any(String), extensions: { code: 'MUSTER_UNAUTHORIZED' } }],
  });
  expect(over).toBe('event: complete\ndata:');
  await free();
  vi.useRealTimers();
  expect(await (await follow('application/json')).json()).toMatchObject({ code: 'MUSTER_BAD_REQUEST' });

  const taken: (() => void)[] = [];
  const takeAll = () => {
    for (;;) taken.push(streamPlaces.enter(1));
  };
  expect(takeAll).toThrow('event streams');
  const full = await follow('text/event-stream');
  expect([full.status, await full.json()]).toMatchObject([503, { code: 'MUSTER_TOO_MANY_STREAMS' }]);
  for (const leave of taken) leave();
});
