import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type AgentStage, agentStage } from '../testing/agent-stage.ts';
import { until } from '../testing/process-stage.ts';

/** The real agent and the real server, each in its own process. Starting them takes seconds on a busy machine. */
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let stage: AgentStage;
beforeAll(async () => {
  stage = await agentStage();
  await stage.agent.start();
});
afterAll(() => stage.close());

const FINAL = ['succeeded', 'failed', 'cancelled', 'expired'];
const ended = (on: AgentStage, id: string) =>
  until(async () => {
    const action = await on.look(id).catch(() => null); // the server may be down at the moment
    return action && FINAL.includes(action.status) ? action : null;
  });
const begun = (on: AgentStage, id: string, attempt = 1) =>
  until(() => on.record().some((call) => call.id === id && call.attempt === attempt));
const calls = (on: AgentStage, ...ids: string[]) => on.record().filter(({ id }) => ids.includes(id));
const types = (action: { events: { type: string }[] }) => action.events.map(({ type }) => type);

it('runs systemctl for the unit, without a shell, and reports output and exit code', async () => {
  const service = await stage.service('web.service');
  const ids = [];
  for (const kind of ['start', 'stop', 'restart']) ids.push(await stage.queue(service, kind));
  for (const id of ids)
    expect(await ended(stage, id)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      exitCode: 0,
      output: 'this is web.service\n',
    });
  expect(calls(stage, ...ids).map(({ words }) => words)).toEqual([
    'start -- web.service',
    'stop -- web.service',
    'restart -- web.service',
  ]);
});

it('controls only units that the host allows, whatever the server says', async () => {
  const id = await stage.queue(await stage.service('shadow.service', false));
  const on = stage;
  const refused = await ended(stage, id);
  expect(refused).toMatchObject({ status: 'failed', attempt: 1, maxAttempts: 3 });
  expect(refused.message).toMatch(/^NOT_ALLOWED/);
  expect(types(refused)).toEqual(['CREATED', 'SENT', 'FAILED', 'FAILED_FINAL']);
  expect(calls(stage, id)).toEqual([]);
  const said = `Action ${id}, attempt 1: failed: NOT_ALLOWED: the unit shadow.service is not on the allow list of this host.\n`;
  await until(() => on.agent.output().includes(said));
  expect(stage.agent.output()).not.toContain(`Action ${id}, attempt 1: restart shadow.service begins.`);
  // allowed now, and redriven, it runs
  writeFileSync(path.join(stage.folder, 'units'), 'shadow\n', { flag: 'a' });
  await stage.call('POST', `/api/actions/${id}/redrive`, {});
  expect((await ended(stage, id)).status).toBe('succeeded');
});

it('reports the output of a failed command', async () => {
  const id = await stage.queue(await stage.service('fails-always.service'));
  const action = await ended(stage, id);
  expect(action).toMatchObject({
    status: 'failed',
    attempt: 3,
    exitCode: 7,
    output: 'this is fails-always.service\nit went wrong\n',
  });
  expect(calls(stage, id).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
});

it('runs an action whose hand-out response was lost', async () => {
  const kept = path.join(stage.folder, 'state', 'instance');
  await until(() => existsSync(kept));
  await stage.agent.stop();
  const id = await stage.queue(await stage.service('lost.service'));
  const instance = readFileSync(kept, 'utf8');
  const lost = await fetch(`${stage.url}/api/control/queue`, {
    headers: { authorization: `Bearer ${stage.agentToken}`, 'muster-instance': instance },
  });
  expect(lost.status).toBe(200);
  await stage.agent.start();
  expect(await ended(stage, id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const on = stage;
  const [shown] = await until(async () => {
    const { instances } = await on.call('GET', `/api/hosts/${on.hostId}`);
    return instances.length > 0 ? instances : null; // written down within a second
  });
  expect(shown).toMatchObject({ id: instance, version: expect.stringMatching(/^muster-agent\/\d/) });
});

it('keeps a result through an outage of the server and its own crash, and delivers it', async () => {
  const id = await stage.queue(await stage.service('gate-a.service'));
  await begun(stage, id);
  await stage.server.kill();
  stage.openGate('gate-a.service');
  const journal = path.join(stage.folder, 'state', 'journal.ndjson');
  await until(() => readFileSync(journal, 'utf8').includes(`"actionId":"${id}"`));
  await stage.agent.kill();
  await stage.agent.start();
  await stage.server.start();
  expect(await ended(stage, id)).toMatchObject({ status: 'succeeded', attempt: 1, exitCode: 0 });
  expect(calls(stage, id)).toHaveLength(1);
});

it('G13: reports an attempt that it did not survive as interrupted, stops its leftovers, never runs it again, and keeps the order', async () => {
  const service = await stage.service('gate-b.service');
  const id = await stage.queue(service);
  await begun(stage, id);
  const stop = await stage.queue(service, 'stop');
  await stage.agent.kill();
  await stage.agent.start();
  await begun(stage, id, 2);
  stage.openGate('gate-b.service');
  // whatever failed before, the service ends in the last requested state
  expect(await ended(stage, stop)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const action = await stage.look(id);
  expect(action).toMatchObject({ status: 'succeeded', attempt: 2 });
  expect(action.events.find(({ type }: { type: string }) => type === 'FAILED').reason).toMatch(
    /^INTERRUPTED/,
  );
  expect(calls(stage, id, stop).map(({ attempt, words }) => `${words.split(' ')[0]} ${attempt}`)).toEqual([
    'restart 1',
    'restart 2',
    'stop 1',
  ]);
  expect(stage.finished().filter((line) => line.startsWith(`${id} `))).toEqual([`${id} 2`]);
  expect(stage.overlaps()).toEqual([]);
});

it('keeps an action that takes longer than its lease, and stops a cancelled one', async () => {
  const on = await agentStage({ MUSTER_CONTROL_LEASE_SECONDS: '6' });
  await on.agent.start();
  const [long, unwanted] = [
    await on.queue(await on.service('gate-long.service')),
    await on.queue(await on.service('gate-unwanted.service')),
  ];
  await begun(on, long);
  await begun(on, unwanted);
  const first = (await on.look(long)).leaseUntil;
  // past the original end of its lease
  await until(async () => Date.parse((await on.look(long)).startedAt) + 8_000 < Date.now());
  expect(Date.parse((await on.look(long)).leaseUntil)).toBeGreaterThan(Date.parse(first));
  await on.call('POST', `/api/hosts/${on.hostId}/actions/${unwanted}/cancel`, {});
  expect(await ended(on, unwanted)).toMatchObject({ status: 'cancelled', attempt: 1 });
  on.openGate('gate-long.service');
  expect(await ended(on, long)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(on.finished()).toEqual([`${long} 1`]);
  await on.close();
});

it('told to stop, it finishes running commands, delivers their results and starts nothing new', async () => {
  const id = await stage.queue(await stage.service('gate-c.service'));
  await begun(stage, id);
  const stopping = stage.agent.stop();
  const later = await stage.queue(await stage.service('later.service'));
  stage.openGate('gate-c.service');
  expect(await stopping).toBe(0);
  expect(await stage.look(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(calls(stage, id, later)).toMatchObject([{ id, attempt: 1 }]);
  await stage.agent.start();
  await ended(stage, later);
});

it('registers its host by itself, and uses a rotated token without a restart', async () => {
  const { token } = await stage.call('POST', '/api/tokens', { kind: 'host-enrolment', name: 'racks' });
  const own = path.join(stage.folder, 'own');
  writeFileSync(`${own}-enrolment`, token);
  const muster = fileURLToPath(new URL('../bin/muster.js', import.meta.url));
  const child = spawn(
    process.execPath,
    [
      muster,
      'agent',
      '--server',
      stage.url,
      '--token-file',
      `${own}-token`,
      '--state-dir',
      own,
      '--name',
      'rack-9',
      '--enrolment-token-file',
      `${own}-enrolment`,
    ],
    { stdio: 'ignore' },
  );
  try {
    const on = stage;
    const host = await until(async () =>
      (await on.call('GET', '/api/hosts')).hosts.find(
        (one: { name: string; online: boolean }) => one.name === 'rack-9' && one.online,
      ),
    );
    expect(existsSync(`${own}-token`)).toBe(true);
    const rotated = await stage.call('POST', `/api/hosts/${host.id}/token`);
    writeFileSync(`${own}-token`, rotated.agentToken);
    const service = (await stage.call('POST', `/api/hosts/${host.id}/services`, { unitName: 'x.service' }))
      .id;
    const action = await stage.call('POST', `/api/hosts/${host.id}/actions`, {
      serviceId: service,
      kind: 'start',
    });
    await until(async () =>
      types(await on.call('GET', `/api/hosts/${host.id}/actions/${action.id}`)).includes('FAILED'),
    );
  } finally {
    child.kill('SIGKILL');
  }
});
