import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { type Server, startServer } from '../src/main.ts';
import { brokenNow } from '../testing/task-game/invariants.ts';

/** Two servers on one database: the same promises hold at both, and each is notified of what happens at the other. */
const OPERATOR = 'operator-token-of-the-two-nodes-0123456789';
let database: Awaited<ReturnType<typeof testDatabase>>;
let nodes: [Server, Server];

const steps: string[] = [];
beforeAll(async () => {
  database = await testDatabase({ lines: LINES });
  const config = readConfig({ PORT: '0', MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'silent' });
  nodes = [
    await startServer(config, { db: database.db, onStep: (what) => steps.push(what) }),
    await startServer(config, { db: database.db }),
  ];
});
afterAll(async () => {
  for (const node of nodes) await node.stop();
  await database.drop();
});

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
async function post(node: Server, path: string, body: object, token = OPERATOR): Promise<any> {
  const response = await fetch(node.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  expect(response.ok, JSON.stringify(answer)).toBe(true);
  return answer;
}

async function fleet(size: number, slots: number) {
  const [node] = nodes;
  const pc = await post(node, '/api/pcs', { name: `pc ${Math.random()}`, slots });
  const devices: string[] = [];
  for (let n = 0; n < size; n += 1)
    devices.push((await post(node, '/api/devices', { name: `device ${n}`, pcId: pc.id })).id);
  return { id: pc.id as string, token: pc.runnerToken as string, devices };
}

test('G58: a runner that waits at one node is woken by changes at the other', async () => {
  const [here, there] = nodes;
  const pc = await fleet(2, 1);
  await post(there, '/api/tasks', { name: 'a', kind: 'A', targets: { deviceIds: pc.devices } });
  const [held] = (await post(there, `/api/pcs/${pc.id}/claim`, {}, pc.token)).taskDevices;
  const waiting = post(here, `/api/pcs/${pc.id}/claim`, { wait: 25 }, pc.token);
  while (here.engine.parkedWaiters === 0) await new Promise((resolve) => setImmediate(resolve));
  await post(there, `/api/task-devices/${held.id}/complete`, { attempt: 1 }, pc.token);
  const [next] = (await waiting).taskDevices;
  expect(next.deviceId).toBe(pc.devices[1]);
  // and a report can go to any node
  expect(await post(there, `/api/task-devices/${next.id}/complete`, { attempt: 1 }, pc.token)).toMatchObject({
    accepted: true,
    status: 'completed',
  });
});

test('G55 G56 G61: simultaneous claims, reports and housekeeping at both nodes exceed no limit and activate nothing twice', async () => {
  const pc = await fleet(12, 4);
  const tasks: string[] = [];
  for (let n = 0; n < 3; n += 1)
    tasks.push(
      (await post(nodes[0], '/api/tasks', { name: 'a', kind: 'A', targets: { pcIds: [pc.id] } })).id,
    );
  const seen: string[] = [];
  for (let round = 0; round < 200; round += 1) {
    const claims = await Promise.all(
      [0, 1, 0, 1].map((n) => post(nodes[n] as Server, `/api/pcs/${pc.id}/claim`, {}, pc.token)),
    );
    const got = claims.flatMap(({ taskDevices }) => taskDevices);
    expect(got.length).toBeLessThanOrEqual(4);
    for (const { taskId } of got) if (seen.at(-1) !== taskId) seen.push(taskId);
    await Promise.all([
      ...got.map(({ id, attempt }, n) =>
        post(nodes[n % 2] as Server, `/api/task-devices/${id}/complete`, { attempt }, pc.token),
      ),
      ...nodes.flatMap((node) => [
        node.engine.runDuty('advance-tasks'),
        node.engine.runDuty('fold-task-counts'),
      ]),
    ]);
    expect(await brokenNow(database.db)).toEqual([]);
    if (seen.length === 3 && got.length === 0) break;
  }
  expect(seen).toEqual(tasks);
  const { rows } = await database.db.query({
    text: 'select count(*)::int as n from muster.tasks where ended_at is null',
  });
  expect(rows[0].n).toBe(0);
});

test('a start reports each step as it reaches it', () => {
  expect(steps).toEqual([
    'checking that port 0 is free',
    expect.stringMatching(/^(opening the embedded|connecting to the) database/),
    'checking the version of the database',
    'loading the secrets key',
    'loading the operator token',
    'starting the engine',
    'starting to listen',
  ]);
});
