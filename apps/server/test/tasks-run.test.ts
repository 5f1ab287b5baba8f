import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { muster, type Running, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';
import { type RunnerClient, runRunner, type Work } from '../testing/task-runner-client.ts';
import { Random } from '../testing/torture/random.ts';

/**
 * Runners of many PCs work through three tasks with random failures while the server is killed again and again. By default a part
 * of the full size; MUSTER_TEST_TASKS_FULL=1 is 50 PCs × 100 devices × 3 tasks.
 */
const FULL = process.env.MUSTER_TEST_TASKS_FULL === '1';
const [PCS, DEVICES, TASKS] = FULL ? [50, 100, 3] : [6, 10, 3];
const SLOTS = FULL ? 20 : 5;
const KILLS = FULL ? 6 : 2;
const SEED = process.env.MUSTER_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));

const OPERATOR = 'operator-token-of-the-task-run-0123456789';
const folder = temporaryFolder();
let environment: Record<string, string>;
let drop = async () => {};
let server: Running;
let starting: Promise<void> = Promise.resolve();

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
async function ask(method: string, path: string, body?: object, token = OPERATOR): Promise<any> {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function fleet(): Promise<RunnerClient[]> {
  const clients: RunnerClient[] = [];
  for (let n = 0; n < PCS; n += 1) {
    const { id, runnerToken } = await ask('POST', '/api/pcs', { name: `pc ${n}`, slots: SLOTS });
    clients.push({ pcId: id, token: runnerToken, slots: SLOTS });
  }
  const rows = clients.flatMap(({ pcId }) =>
    Array.from({ length: DEVICES }, (_, n) =>
      JSON.stringify({ name: `device ${n}`, externalId: `${pcId}-${n}`, pcId }),
    ),
  );
  const imported = await fetch(`${server.url}/api/devices/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  expect((await imported.text()).trim().split('\n')).toHaveLength(PCS * DEVICES);
  return clients;
}

test(
  'G55 G56 G57 G59 G61: many runners finish the tasks, each attempt once, whatever fails and however often the server is killed',
  async () => {
    const random = new Random(SEED);
    const clients = await fleet();
    const tasks: string[] = [];
    for (let n = 0; n < TASKS; n += 1)
      tasks.push(
        (await ask('POST', '/api/tasks', { name: `task ${n}`, kind: 'WORK', targets: { all: true } })).id,
      );

    const ran = new Map<string, number>();
    const succeeded = new Map<string, number>();
    const order: string[] = [];
    const most = new Map<string, number>();
    let reports = 0;
    let kills = 0;
    let over = false;

    async function kill(): Promise<void> {
      await server.stop('SIGKILL');
      server = await serve(environment);
    }
    const every = Math.floor((PCS * DEVICES * TASKS) / (KILLS + 1));

    const house = {
      ask: (method: string, path: string, body: object | undefined, token: string) =>
        ask(method, path, body, token),
      untilThere: () => starting,
      isOver: () => over,
      run(work: Work): boolean {
        const key = `${work.id}:${work.attempt}`;
        ran.set(key, (ran.get(key) ?? 0) + 1);
        if (order.at(-1) !== work.taskId) order.push(work.taskId);
        return random.chance(0.85);
      },
      onMostHeld: (pcId: string, held: number) => void most.set(pcId, Math.max(most.get(pcId) ?? 0, held)),
      onReported(work: Work, answer: { accepted: boolean; status: string }): void {
        reports += 1;
        if (answer.accepted && answer.status === 'completed') {
          const key = `${work.taskId}:${work.deviceId}`;
          succeeded.set(key, (succeeded.get(key) ?? 0) + 1);
        }
        if (kills < KILLS && reports >= every * (kills + 1)) {
          kills += 1;
          starting = kill();
        }
      },
    };
    /** Checks now and then whether everything has ended. */
    async function watch(): Promise<void> {
      while (!over) {
        await starting;
        const page = await ask('GET', '/api/tasks').catch(() => null);
        over = page?.tasks.every((task: { endedAt: string | null }) => task.endedAt !== null) ?? false;
        if (!over) await pause(200);
      }
    }
    await Promise.all([watch(), ...clients.map((client) => runRunner(client, house))]);

    expect(kills).toBe(KILLS);
    expect([...ran.values()].every((times) => times === 1)).toBe(true);
    expect([...succeeded.values()].every((times) => times === 1)).toBe(true);
    expect(Math.max(...most.values())).toBeLessThanOrEqual(SLOTS);
    expect(order).toEqual(tasks); // one after the other, never mixed
    const shown = (await ask('GET', '/api/tasks')).tasks.reverse();
    let inError = 0;
    for (const task of shown) {
      const { completed, failed, cancelled } = task.counts;
      expect(completed + failed + cancelled).toBe(PCS * DEVICES);
      expect(cancelled).toBe(inError); // devices that have failed for good get no more work
      inError += failed;
      expect(task.status).toBe(failed > 0 ? 'failed' : 'success');
      expect([...succeeded.keys()].filter((key) => key.startsWith(`${task.id}:`))).toHaveLength(completed);
    }
    const { pcs } = await ask('GET', '/api/pcs');
    const errors = pcs.map((pc: { errorDeviceCount: number }) => pc.errorDeviceCount);
    expect(errors.reduce((sum: number, one: number) => sum + one, 0)).toBe(inError);
    expect(await muster(['check'], environment)).toMatchObject({ code: 0 });
  },
  FULL ? 1_800_000 : 180_000,
);
