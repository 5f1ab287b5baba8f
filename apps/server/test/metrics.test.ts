import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer({ clock: true });
});
afterAll(() => t.close());

test('metrics count events, by tenant and channel and never by lane', async () => {
  const queue = async (body: object = {}) =>
    (await t.post('/api/lanes/measured-lane/actions', { kind: 'x', ...body })).body.id;
  const claim = () => t.post('/api/lanes/measured-lane/claim', { worker: 'w', leaseSeconds: 5 });
  const first = await queue({ maxAttempts: 1 });
  await queue();
  await claim();
  await t.post(`/api/actions/${first}/report`, { attempt: 1, status: 'failed' });
  await claim();
  await t.pass(6_000);
  await t.post(`/api/actions/${first}/report`, { attempt: 9, status: 'failed' });
  const text = (await t.get('/metrics')).body as string;
  for (const line of [
    'muster_depth{tenant="1",channel="generic",state="failed"} 1',
    'muster_depth{tenant="1",channel="generic",state="pending"} 1',
    'muster_enqueued_total{tenant="1",channel="generic"} 2',
    'muster_claims_total{tenant="1",channel="generic"} 2',
    'muster_reports_total{tenant="1",channel="generic",outcome="failed"} 1',
    'muster_dead_total{tenant="1",channel="generic"} 1',
    'muster_lease_ends_total{tenant="1",channel="generic"} 1',
    'muster_retries_total{tenant="1",channel="generic"} 1',
    'muster_late_total{tenant="1"} 1',
    'muster_parked_waiters 0',
    'muster_database_up 1',
    'muster_database_connections_limit{pool="requests"} 10',
    'muster_database_callers_waiting{pool="gathered"} 0',
  ])
    expect(text).toContain(line);
  for (const name of [
    'muster_batch_size_bucket',
    'muster_statement_seconds_bucket',
    'muster_http_request_seconds_bucket',
    'muster_oldest_age_seconds{tenant="1"}',
    'muster_feed_lag_seconds',
    'muster_database_connections{pool="requests",state="busy"}',
    'muster_duty_seconds_bucket',
    'process_cpu_seconds_total',
  ])
    expect(text).toContain(name);
  expect(text).not.toContain('measured-lane');
});

test('a configured address reads metrics without a token, and nothing else', async () => {
  const own = await testServer({ settings: { MUSTER_METRICS_ALLOW: '10.0.0.0/8, 127.0.0.1' } });
  expect((await own.get('/metrics', { token: null })).status).toBe(200);
  expect((await own.get('/api/counts', { token: null })).status).toBe(401);
  await own.close();
  expect((await t.get('/metrics', { token: null })).status).toBe(401);
});
