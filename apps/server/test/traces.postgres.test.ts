import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAgent, createRunner, type Outcome } from '@muster/agent';
import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { openAgentTracing } from '../src/tracing/agent-tracing.ts';
import { type CollectedSpan, collector } from '../testing/collector.ts';

/** Two nodes on one database and an agent, all of which send their traces to a collector. */
const OPERATOR = 'operator-token-of-the-trace-tests-0123456789';
const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

type Collector = Awaited<ReturnType<typeof collector>>;
let database: Awaited<ReturnType<typeof testDatabase>>;
let traces: Collector;
const folder = mkdtempSync(path.join(tmpdir(), 'muster-traces-'));
beforeAll(async () => {
  database = await testDatabase({ lines: LINES });
  traces = await collector();
});
afterAll(async () => {
  await database.drop();
  await traces.close();
  rmSync(folder, { force: true, recursive: true });
});

const on = () => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20secret',
});

const node = (settings: Record<string, string>) =>
  startServer(
    readConfig({ PORT: '0', MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'silent', ...settings }),
    { db: database.db },
  );

async function call(
  to: Server,
  method: string,
  where: string,
  body?: object,
  headers = {},
  token = OPERATOR,
) {
  const response = await fetch(to.url + where, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${text}`);
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  return { headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as any };
}

const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0] as CollectedSpan;
};

test('an action is one trace: queued at one node, handed out at the other, run by the agent, reported', async () => {
  const [a, b] = [await node(on()), await node(on())];
  const host = (await call(a, 'POST', '/api/hosts', { name: 'traced' })).body;
  const service = (await call(a, 'POST', `/api/hosts/${host.id}/services`, { unitName: 'web.service' })).body;
  const tracing = await openAgentTracing('agent', console.error, on());
  let ran = (_status: Outcome) => {};
  const running = new Promise<Outcome>((resolve) => {
    ran = resolve;
  });
  const agent = createAgent({
    server: b.url,
    token: async () => host.agentToken,
    folder,
    tracing: tracing ?? undefined,
    async execute() {
      ran({ status: 'succeeded' });
      return running;
    },
  });
  const work = agent.run();
  await expect.poll(() => b.engine.parkedWaiters).toBe(1);
  const asked = { serviceId: service.id, kind: 'restart' };
  const queued = await call(a, 'POST', `/api/hosts/${host.id}/actions`, asked, { traceparent });
  const { id } = queued.body;
  const of = async () => (await call(a, 'GET', `/api/actions/${id}`)).body.state;
  await expect.poll(of).toBe('succeeded');
  agent.stop();
  await work;
  await tracing?.close();
  await a.stop();
  await b.stop();

  const [, traceId] = /=00-([0-9a-f]{32})-/.exec(queued.headers.get('muster-traceparents') ?? '') ?? [];
  const trace = traces.spans.filter((span) => span.traceId === traceId);
  const enqueue = named(trace, 'enqueue');
  expect(enqueue).toMatchObject({
    parent: null,
    attributes: { 'muster.action.events': ['CREATED'], 'muster.action.id': id },
  });
  const post = named(trace, 'POST /api/hosts/:hostId/actions');
  expect(post).toMatchObject({ parent: enqueue.spanId, service: 'muster', links: [CALLER.traceId] });
  expect(named(trace, 'claim-slots')).toMatchObject({
    parent: enqueue.spanId,
    attributes: { 'muster.action.events': ['SENT'] },
  });
  const poll = named(trace, 'GET /api/control/queue');
  expect(poll.parent).toBe(enqueue.spanId);
  const wait = named(trace, 'wait for work');
  expect(wait.parent).toBe(poll.spanId);
  expect(wait.to).toBeGreaterThan(enqueue.from);
  const attempt = named(trace, `Action ${id}, attempt 1: restart web.service`);
  expect(attempt).toMatchObject({ service: 'muster-agent', parent: poll.spanId, hasFailed: false });
  const report = named(trace, 'POST /api/control/report');
  expect(report.parent).toBe(attempt.spanId);
  expect(named(trace, 'report')).toMatchObject({
    parent: enqueue.spanId,
    attributes: { 'muster.action.events': ['SUCCEEDED'] },
  });
  expect(traces.headers[0]?.['x-api-key']).toBe('a secret');
  // the caller's own trace has the request, and where it led to
  const callers = traces.spans.filter((span) => span.traceId === CALLER.traceId);
  expect(callers).toMatchObject([{ name: post.name, parent: CALLER.spanId, links: [traceId] }]);
});

test('the attempt of a runner is in the trace of its device’s action', async () => {
  const a = await node(on());
  const pc = (await call(a, 'POST', '/api/pcs', { name: 'traced', slots: 1 })).body;
  const device = (await call(a, 'POST', '/api/devices', { name: 'traced', pcId: pc.id })).body;
  const tracing = await openAgentTracing('runner', console.error, on());
  const runner = createRunner({
    server: a.url,
    token: async () => pc.runnerToken,
    pcId: pc.id,
    folder: path.join(folder, 'runner'),
    script: '/bin/cat',
    environment: {},
    tracing: tracing ?? undefined,
  });
  const work = runner.run();
  const from = traces.spans.length;
  const body = { name: 't', kind: 'UPDATE', payload: 1, targets: { deviceIds: [device.id] } };
  const task = (await call(a, 'POST', '/api/tasks', body)).body;
  const ended = async () => (await call(a, 'GET', `/api/tasks/${task.id}`)).body.endedAt;
  await expect.poll(ended).not.toBeNull();
  runner.stop();
  await work;
  await tracing?.close();
  await a.stop();

  const spans = traces.spans.slice(from);
  const attempt = spans.find(({ service }) => service === 'muster-runner') as CollectedSpan;
  const trace = spans.filter(({ traceId }) => traceId === attempt.traceId);
  const [claim, complete] = ['POST /api/pcs/:id/claim', 'POST /api/task-devices/:id/complete'];
  expect(attempt.parent).toBe(named(trace, claim as string).spanId);
  expect(named(trace, complete as string).parent).toBe(attempt.spanId);
  expect(trace.flatMap(({ attributes }) => attributes['muster.action.events'] ?? [])).toEqual([
    'CREATED',
    'SENT',
    'SUCCEEDED',
  ]);
});

test('ids that a client only names are not traced, and a caller without a token is not followed', async () => {
  const a = await node(on());
  const device = (await call(a, 'POST', '/api/devices', { name: 'liar' })).body;
  const other = (await call(a, 'POST', '/api/lanes/other/actions', { kind: 'x' })).body.id;
  const queued = (await call(a, 'POST', `/api/devices/${device.id}/actions`, { kind: 'LOCK' })).body.id;
  const from = traces.spans.length;
  for (const actionId of ['日本', 'x\r\nset-cookie: a=b', `7=${traceparent}, 8`, other]) {
    const result = { actionId, attempt: 1, status: 'done' };
    const answer = await call(a, 'POST', '/api/checkin', { result }, {}, device.deviceToken);
    expect(answer.body.action?.id ?? queued).toBe(queued);
    expect(answer.headers.get('muster-traceparents') ?? `${queued}=`).toMatch(
      new RegExp(`^${queued}=[^,]*$`),
    );
  }
  await fetch(`${a.url}/healthz`, { headers: { traceparent } });
  await a.stop();
  const spans = traces.spans.slice(from);
  expect(spans.filter(({ name }) => name === 'GET /healthz')).toEqual([]);
  const reports = spans.filter(({ name }) => name === 'POST /api/checkin');
  expect(new Set(reports.map(({ attributes }) => attributes['muster.action.id']))).toEqual(new Set([queued]));
});

test('nodes decide alike which share of the actions is traced, and a failure is marked', async () => {
  const half = { ...on(), OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const [a, b] = [await node(half), await node(half)];
  const from = traces.spans.length;
  for (let n = 0; n < 40; n += 1)
    await call(a, 'POST', '/api/lanes/half/actions', { kind: 'x', maxAttempts: 1 });
  for (let n = 0; n < 40; n += 1) {
    const [action] = (await call(b, 'POST', '/api/lanes/half/claim', { worker: 'w' })).body.actions;
    await call(b, 'POST', `/api/actions/${action.id}/report`, { attempt: 1, status: 'failed' });
  }
  await a.stop();
  await b.stop();
  const spans = traces.spans.slice(from);
  const actionsOf = (name: string) =>
    new Set(spans.filter((span) => span.name === name).map((span) => span.attributes['muster.action.id']));
  const queued = actionsOf('enqueue');
  expect(queued.size).toBeGreaterThan(0);
  expect(queued.size).toBeLessThan(40);
  for (const name of ['claim', 'report', 'POST /api/actions/:id/report'])
    expect(actionsOf(name)).toEqual(queued);
  const failed = spans.filter((span) => span.hasFailed);
  expect(new Set(failed.map(({ name }) => name))).toEqual(new Set(['report']));
});

test('without a collector nothing is traced, and no answer says so', async () => {
  const from = traces.spans.length;
  const a = await node({});
  const queued = await call(a, 'POST', '/api/lanes/off/actions', { kind: 'x' }, { traceparent });
  expect(queued.headers.get('muster-traceparents')).toBeNull();
  await a.stop();
  expect(traces.spans.length).toBe(from);
});
