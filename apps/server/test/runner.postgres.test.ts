import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { until } from '../testing/process-stage.ts';
import { type RunnerStage, runnerStage } from '../testing/runner-stage.ts';

/** The real runner and the real server, each in its own process. Starting them takes seconds on a busy machine. */
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const SLOTS = 3;
let stage: RunnerStage;
beforeAll(async () => {
  stage = await runnerStage(SLOTS);
  await stage.runner.start();
});
afterEach(() => expect(stage.overlaps()).toEqual([]));
afterAll(() => stage.close());

const begun = (devices: string[], count: number) => until(() => stage.record(devices).length >= count);
const rowOf = async (taskId: string, deviceId: string) => {
  const row = (await stage.taskDevices(taskId)).find((one) => one.deviceId === deviceId);
  return row as NonNullable<typeof row>;
};
const attempts = (devices: string[]) => stage.record(devices).map(({ attempt }) => attempt);

it('keeps its slots full, and reports the output of the script', async () => {
  const devices = await stage.devices(5);
  const task = await stage.task(devices, { do: 'gate', version: 7 });
  await begun(devices, SLOTS);
  expect(await stage.call('GET', `/api/pcs/${stage.pcId}`)).toMatchObject({ runningCount: 3, freeSlots: 0 });
  expect(stage.record(devices)).toHaveLength(SLOTS);
  // a freed slot is filled without a new request
  stage.openGates(stage.record(devices)[0]?.deviceId as string);
  await begun(devices, SLOTS + 1);
  stage.openGates(...devices);
  expect(await stage.ended(task)).toMatchObject({ status: 'success', counts: { completed: 5 } });
  expect(
    stage
      .record(devices)
      .map(({ deviceId }) => deviceId)
      .sort(),
  ).toEqual([...devices].sort());
  const row = await rowOf(task, devices[0] as string);
  expect((await stage.look(row.id)).result).toEqual({
    payload: { do: 'gate', version: 7 },
    kind: 'UPDATE',
    pc: stage.pcId,
    task,
  });
  expect((await stage.events(row.id)).map(({ type }) => type)).toEqual([
    'CREATED',
    'SENT',
    'ACKED',
    'SUCCEEDED',
  ]);
});

it('reports text as text, and for a failure the code and the end of the error output', async () => {
  const [speaks = '', fails = ''] = await stage.devices(2);
  const text = await stage.task([speaks], 'text');
  await stage.ended(text);
  expect((await stage.look((await rowOf(text, speaks)).id)).result).toBe('plain words');

  const failing = await stage.task([fails], 'fails', { maxAttempts: 2 });
  expect(await stage.ended(failing)).toMatchObject({ status: 'failed', counts: { failed: 1 } });
  const row = await rowOf(failing, fails);
  const errors = (await stage.events(row.id)).filter(({ type }) => type === 'FAILED');
  expect(errors.map(({ error }) => error)).toEqual(
    Array(2).fill('The script ended with code 7.\nit went wrong'),
  );
  expect(attempts([fails])).toEqual([1, 2]);
});

it('stops cancelled scripts, and slow ones before the device is retried', async () => {
  const [unwanted = '', slow = ''] = await stage.devices(2);
  const cancelled = await stage.task([unwanted], 'gate');
  await begun([unwanted], 1);
  await stage.call('POST', `/api/tasks/${cancelled}/cancel`, {});
  expect(await stage.ended(cancelled)).toMatchObject({ status: 'cancelled' });

  const timed = await stage.task([slow], 'gate', { timeoutSeconds: 3, maxAttempts: 2 });
  expect(await stage.ended(timed)).toMatchObject({ status: 'failed', counts: { failed: 1 } });
  expect(attempts([slow])).toEqual([1, 2]);
  const { id } = await rowOf(timed, slow);
  expect((await stage.events(id)).filter(({ type }) => type === 'FAILED')).toEqual([]); // whether runner or server noticed it first
  expect(attempts([unwanted])).toEqual([1]);
  // overlaps() shows that the first was gone before the second began
  const ran = stage.record([unwanted, slow]).map(({ id, attempt }) => `${id} ${attempt}`);
  expect(stage.finished().filter((line) => ran.includes(line))).toEqual([]);
});

it('keeps a result while server and runner are killed, and delivers it once when both are back', async () => {
  const devices = await stage.devices(1);
  const task = await stage.task(devices, 'gate');
  await begun(devices, 1);
  await stage.server.kill();
  stage.openGates(...devices);
  const [id = ''] = stage.record(devices).map((one) => one.id);
  await until(() => stage.journal().includes(`"actionId":"${id}"`));
  await stage.runner.kill();
  await Promise.all([stage.runner.start(), stage.server.start()]);
  expect(await stage.ended(task)).toMatchObject({ status: 'success' });
  expect(await stage.look(id)).toMatchObject({
    status: 'completed',
    attempt: 1,
    result: { payload: 'gate' },
  });
  expect(attempts(devices)).toEqual([1]);
});

it('never runs an attempt again that it did not survive, and stops its leftovers', async () => {
  const devices = await stage.devices(2);
  const task = await stage.task(devices, 'gate');
  await begun(devices, 2);
  await stage.runner.kill();
  await stage.runner.start();
  await begun(devices, 4);
  stage.openGates(...devices);
  expect(await stage.ended(task)).toMatchObject({ status: 'success', counts: { completed: 2 } });
  for (const { id } of await stage.taskDevices(task)) {
    const failed = (await stage.events(id)).filter(({ type }) => type === 'FAILED');
    expect(failed).toMatchObject([
      { attempt: 1, error: expect.stringMatching(/^INTERRUPTED: the runner stopped while it ran/) },
    ]);
  }
  expect(attempts(devices).sort()).toEqual([1, 1, 2, 2]);
});

it('finishes running scripts when told to stop, and starts what was handed out in a lost response', async () => {
  const devices = await stage.devices(1);
  const task = await stage.task(devices, 'gate');
  await begun(devices, 1);
  const stopping = stage.runner.stop();
  const [lost = ''] = await stage.devices(1);
  const next = await stage.task([lost], 'short');
  stage.openGates(...devices);
  expect(await stopping).toBe(0);
  expect(await stage.ended(task)).toMatchObject({ status: 'success' });
  expect(stage.record([lost])).toEqual([]);

  const answer = await fetch(`${stage.url}/api/pcs/${stage.pcId}/claim`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stage.runnerToken}`,
      'content-type': 'application/json',
      'muster-instance': stage.instance(),
    },
    body: '{}',
  });
  const { taskDevices } = (await answer.json()) as { taskDevices: object[] };
  expect(taskDevices).toMatchObject([{ deviceId: lost, attempt: 1 }]);
  await stage.runner.start();
  expect(await stage.ended(next)).toMatchObject({ status: 'success' });
  expect(attempts([lost])).toEqual([1]);
});

it('ends every device once and runs no attempt twice, whatever is killed in between', async () => {
  const devices = await stage.devices(12);
  const tasks = [];
  for (let n = 0; n < 2; n += 1) tasks.push(await stage.task(devices, 'short', { maxAttempts: 10 }));
  // measured in calls of the script, not in time, so that something is always running
  for (const victim of [stage.runner, stage.server, stage.runner]) {
    const before = stage.record(devices).length;
    await until(() => stage.record(devices).length > Math.min(before + 2, 23));
    await victim.kill();
    await victim.start();
  }
  for (const task of tasks) {
    expect(await stage.ended(task)).toMatchObject({ status: 'success', counts: { completed: 12 } });
    for (const { id } of await stage.taskDevices(task)) {
      const events = await stage.events(id);
      expect(events.filter(({ type }) => type === 'SUCCEEDED')).toHaveLength(1);
      // every failure was caused by a killed runner
      for (const { error } of events.filter(({ type }) => type === 'FAILED'))
        expect(error).toMatch(/^INTERRUPTED/);
    }
  }
  const runs = stage.record(devices).map(({ id, attempt }) => `${id} ${attempt}`);
  expect(new Set(runs).size).toBe(runs.length);
});
