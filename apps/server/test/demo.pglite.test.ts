import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@muster/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type RunningDemo, startDemo } from '../src/cli/demo.ts';
import { playPhone } from '../src/cli/phone.ts';

/** The demo with a small fleet, on the embedded database as newcomers have it. */
const PATIENCE = { timeout: 240_000, interval: 200 };
vi.setConfig({ testTimeout: 250_000, hookTimeout: 250_000 });

const FLAGS = { port: '0', seed: 'test', devices: '24', hosts: '2', pcs: '1', bots: '2', phones: '1' };
const hear = { onStep: () => {}, onFault: () => {}, signal: new AbortController().signal };
/** The folder of its temporary files, and nothing else. */
const temporary = mkdtempSync(path.join(tmpdir(), 'muster-test-demo-'));
const leftovers = () => readdirSync(temporary).filter((name) => name.startsWith('muster-demo-'));

let demo: RunningDemo;
beforeAll(async () => {
  vi.stubEnv('TMPDIR', temporary);
  demo = await startDemo({ ...FLAGS, pastHours: '0.25' }, hear);
});
afterAll(async () => {
  await demo?.stop();
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true, force: true });
});

const clientOf = (token: string) => createClient({ url: demo.url, token });

test('every page has content at once: problems, an hour of history, what waits and why', async () => {
  const { audit, batches, devices, overviews, webhooks, workflows } = clientOf(demo.people.admin);
  const { problems } = (await overviews.overview()).body;
  expect(problems.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['DEAD_LETTERS', 'DEVICES_IN_ERROR', 'TAGS_PAUSED']),
  );
  const whole = (await overviews.stats({ query: {} })).body.rows.filter(({ channel }) => channel === null);
  expect(whole.filter(({ succeeded }) => succeeded > 0).length).toBeGreaterThan(0);
  expect(whole.filter(({ pending }) => (pending ?? 0) > 0).length).toBeGreaterThan(0);
  const { groups } = (await overviews.waiting()).body;
  expect(groups.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['OFFLINE', 'TAG_PAUSED', 'LANE_PAUSED', 'NOT_BEFORE']),
  );
  expect((await batches.list()).body.batches.length).toBeGreaterThan(2);
  expect((await workflows.list()).body.workflows.length).toBe(3);
  expect((await webhooks.list()).body.webhooks.length).toBe(3);
  expect((await audit.list()).body.audit.length).toBeGreaterThan(10);
  expect((await devices.list({ query: { limit: 100 } })).body.devices).toHaveLength(24 + 1);
});

test('tasks keep pace: some have ended, and no more than two wait behind the active one', async () => {
  const { tasks } = clientOf(demo.people.admin);
  const statuses = async () =>
    (await tasks.list({ query: { limit: 100 } })).body.tasks.map(({ status }) => status);
  expect((await statuses()).filter((status) => status === 'pending').length).toBeLessThanOrEqual(2);
  await expect.poll(statuses).toContain('success');
});

test('the simulated hours are over: the server uses the real time', () => {
  // the clock of the database, read at a distance: not to the millisecond
  expect(Math.abs(demo.server.engine.now().getTime() - Date.now())).toBeLessThan(60_000);
});

test('the fleet works: devices, hosts, PCs, bots and phones finish their actions', async () => {
  const { checkin, actions, mdm, orders, hostActions, hosts, devices } = clientOf(demo.people.ana);
  const { id } = (await checkin.assign({ params: { id: '1' }, body: { kind: 'LOCK' } })).body;
  const [host] = (await hosts.list()).body.hosts;
  const hostId = host?.id ?? '';
  const [phone] = (await devices.list({ query: { tag: 'phone' } })).body.devices;
  const params = { id: phone?.id ?? '' };
  const body = { requestType: 'DeviceInformation', keys: { Queries: ['OSVersion'] } };
  const commanded = (await mdm.command({ params, body })).body.id;
  const stateOf = async (action: string) => (await actions.get({ params: { id: action } })).body.state;
  await expect.poll(() => stateOf(id), PATIENCE).toBe('succeeded');
  await expect.poll(() => stateOf(commanded), PATIENCE).toBe('succeeded');
  await expect
    .poll(async () => (await orders.list()).body.orders.map(({ status }) => status), PATIENCE)
    .toContain('COMPLETE');
  await expect
    .poll(
      async () => (await hostActions.list({ params: { hostId } })).body.actions.map(({ status }) => status),
      PATIENCE,
    )
    .toContain('succeeded');
  expect(demo.faults).toEqual([]);
});

test('a simulated phone enrols by hand, is locked over GraphQL, and leaves when it is released', async () => {
  const { devices, mdm } = clientOf(demo.people.ana);
  const { id } = (await devices.create({ body: { name: 'tried by hand' } })).body;
  const { url } = (await mdm.enrol({ params: { id } })).body;
  const ending = new AbortController();
  const said: string[] = [];
  const phone = playPhone(url, { everyMs: 50, signal: ending.signal, say: (line) => said.push(line) });
  const ask = async (query: string) => {
    const headers = { authorization: `Bearer ${demo.people.ana}`, 'content-type': 'application/json' };
    const answer = await fetch(`${demo.url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
    });
    const { data } = (await answer.json()) as { data: { device: { policy: string } } };
    return data;
  };
  const policy = async () => (await ask(`{ device(id: ${id}) { policy } }`)).device.policy;
  await expect.poll(policy, PATIENCE).toBe('active');
  await ask(`mutation { assignAction(deviceId: ${id}, actionId: 5) { executionId } }`);
  await expect.poll(policy, PATIENCE).toBe('locked');
  await ask(`mutation { assignAction(deviceId: ${id}, actionId: 9) { executionId } }`);
  await phone;
  await expect.poll(policy, PATIENCE).toBe('released');
  ending.abort();
  expect(said).toEqual([
    expect.stringMatching(/^Enrolled: UDID/),
    'DeviceLock: Acknowledged. It is locked.',
    'RemoveProfile: Acknowledged. It is locked.',
    'It has left.',
  ]);
  const wish = { signal: ending.signal, say: () => {} };
  await expect(playPhone(url, wish)).rejects.toThrow('Enrolment failed');
  for (const other of ['foo', `${demo.url}/`])
    await expect(playPhone(other, wish)).rejects.toThrow(
      `"${other}" is not the URL of an enrolment profile.`,
    );
});

test('a folder that is not empty is refused', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-kept-'));
  mkdtempSync(path.join(folder, 'something'));
  await expect(startDemo({ ...FLAGS, dataDir: folder }, hear)).rejects.toThrow('is not empty');
  rmSync(folder, { recursive: true });
});

test('it ends when asked to, and leaves nothing behind', async () => {
  expect(leftovers()).toHaveLength(1);
  await demo.stop();
  expect(leftovers()).toEqual([]);
  await expect(fetch(demo.url)).rejects.toThrow();
});

test('a port that browsers block is refused in a sentence before anything is created', async () => {
  const before = leftovers();
  for (const port of ['4190', '6667'])
    await expect(startDemo({ ...FLAGS, port }, hear)).rejects.toThrow(
      `Browsers block port ${port}, because another protocol uses it.`,
    );
  expect(leftovers()).toEqual(before);
});
