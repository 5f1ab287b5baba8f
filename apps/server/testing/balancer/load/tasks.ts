import { setTimeout as pause } from 'node:timers/promises';
import { runRunner, type Work } from '../../task-runner-client.ts';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Playing } from './part.ts';

/** Runners with free slots, and one task after the other for their devices. */
const PCS = 2;
const DEVICES = 4;

export async function playTasks(playing: Playing): Promise<Finding[]> {
  const { caller, isOver, token } = playing;
  const found: Finding[] = [];
  const ran = new Set<string>();
  let isDone = false;
  const house = {
    async ask(method: string, path: string, body: object | undefined, runnerToken: string) {
      const said = await caller.once(method, path, { token: runnerToken, body });
      if (said === null || said.status >= 300)
        throw new Error(`${method} ${path}: ${JSON.stringify(said?.body)}`);
      return said.body;
    },
    untilThere: () => pause(50),
    isOver: () => isDone,
    run({ attempt, id }: Work) {
      const key = `${id} ${attempt}`;
      if (ran.has(key)) found.push(finding('G15', null, `attempt ${attempt} of task device ${id} ran twice`));
      ran.add(key);
      return true;
    },
    onMostHeld() {},
    onReported() {},
  };
  const pcs: { id: string; runnerToken: string }[] = [];
  for (let n = 0; n < PCS; n += 1) pcs.push(await newPc(playing, n));
  const runners = pcs.map(({ id, runnerToken }) =>
    runRunner({ pcId: id, token: runnerToken, slots: DEVICES }, house),
  );
  const pcIds = pcs.map(({ id }) => id);
  for (let n = 0; !isOver() || n === 0; n += 1) found.push(...(await oneTask(playing, pcIds, n)));
  isDone = true;
  await Promise.all(runners);
  for (const id of pcIds) {
    const { body } = await caller.surely('GET', `/api/pcs/${id}/running`, { token });
    for (const { id: stuck } of body.taskDevices)
      found.push(finding('G54', stuck, `${stuck} still runs at PC ${id}`));
  }
  return found;
}

async function newPc({ caller, random, token }: Playing, n: number) {
  for (;;) {
    const body = { name: `pc ${n} ${random.next()}`, slots: DEVICES };
    const pc = await caller.once('POST', '/api/pcs', { token, body });
    if (pc?.status !== 201) continue;
    for (let made = 0; made < DEVICES; ) {
      const device = { name: `of pc ${pc.body.id} ${random.next()}`, pcId: pc.body.id };
      if ((await caller.once('POST', '/api/devices', { token, body: device }))?.status === 201) made += 1;
    }
    return pc.body as { id: string; runnerToken: string };
  }
}

async function oneTask({ caller, token }: Playing, pcIds: readonly string[], n: number): Promise<Finding[]> {
  const body = { name: `task ${n}`, kind: 'UPDATE', targets: { pcIds } };
  const made = await caller.surely('POST', '/api/tasks', { token, body, key: `task ${n}` });
  if (made.status >= 300) throw new Error(`A task was refused: ${JSON.stringify(made.body)}`);
  const { id } = made.body;
  for (;;) {
    const { body: task } = await caller.surely('GET', `/api/tasks/${id}`, { token });
    if (task.endedAt !== null) break;
    await pause(100);
  }
  const devices = await caller.surely('GET', `/api/tasks/${id}/devices?limit=500`, { token });
  return (devices.body.taskDevices as { deviceId: string; status: string }[])
    .filter(({ status }) => status !== 'completed')
    .map(({ deviceId, status }) =>
      finding('G54', null, `device ${deviceId} of task ${id} is ${status}, not completed`),
    );
}
