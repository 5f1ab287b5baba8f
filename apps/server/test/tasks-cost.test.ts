import { afterAll, beforeAll, expect, test } from 'vitest';
import { type House, hostsHouse } from '../testing/hosts-house.ts';

/** Counts the statements sent to the database. */
let house: House;
beforeAll(async () => {
  house = await hostsHouse();
});
afterAll(() => house.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
async function ask(method: string, path: string, body?: unknown, token?: string): Promise<any> {
  const answer = await house.call(method, path, { body, ...(token === undefined ? {} : { token }) });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}

async function fleet(name: string, size: number) {
  const pc = await ask('POST', '/api/pcs', { name });
  for (let n = 0; n < size; n += 1) await ask('POST', '/api/devices', { name: `${name} ${n}`, pcId: pc.id });
  return { id: pc.id as string, token: pc.runnerToken as string };
}

const claim = (pc: { id: string; token: string }, body: object) =>
  ask('POST', `/api/pcs/${pc.id}/claim`, body, pc.token);

test('a task for a whole fleet takes as many statements as one for a list, whose ids are looked up once', async () => {
  const pc = await fleet('cost', 30);
  await ask('POST', '/api/tasks', { name: 'first', kind: 'A', targets: { pcIds: [pc.id] } });
  const added = async (targets: object) => {
    const before = house.statements.length;
    const { total } = await ask('POST', '/api/tasks', { name: 'next', kind: 'A', targets });
    const mine = house.statements.slice(before).filter((text) => /task|devices/.test(text));
    return {
      total,
      statements: mine.filter((text) => !/muster_(tenants_to_advance|fold)|exists \(/.test(text)),
    };
  };
  const list = await added({ deviceIds: ['1', '2'] });
  const all = await added({ all: true });
  const looks = (text: string) => text === 'muster_unknown_devices';
  expect(list.statements.filter(looks)).toHaveLength(1);
  expect(all.statements).toEqual(list.statements.filter((text) => !looks(text)));
  expect(all.total).toBeNull();
  const { rows } = await house.engine.db.query({
    text: 'select count(distinct task_id)::int as n from muster.task_targets',
  });
  expect(rows[0].n).toBe(1);
});

test('a waiting runner causes no statements, however busy others are', async () => {
  const [idle, busy] = [await fleet('idle', 1), await fleet('busy', 8)];
  const looks = () => house.statements.filter((name) => name.startsWith('muster_supply_task_devices')).length;
  const { tasks } = await ask('GET', '/api/tasks');
  for (const { id, endedAt } of tasks) if (endedAt === null) await ask('POST', `/api/tasks/${id}/cancel`, {});
  const waiting = claim(idle, { wait: 25 });
  while (house.engine.parkedWaiters === 0) await new Promise((resolve) => setImmediate(resolve));
  await ask('POST', '/api/tasks', { name: 'busy', kind: 'A', targets: { pcIds: [busy.id] } });
  // the next task wakes all of them once
  while (house.engine.parkedWaiters === 0) await new Promise((resolve) => setImmediate(resolve));
  let { taskDevices } = await claim(busy, { max: 1 });
  await claim(idle, {});
  const before = looks();
  let claims = 0;
  for (; taskDevices.length > 0 && claims < 6; claims += 1)
    ({ taskDevices } = await ask(
      'POST',
      `/api/task-devices/${taskDevices[0].id}/complete`,
      { attempt: 1, claim: { max: 1 } },
      busy.token,
    ));
  expect(looks() - before).toBe(claims);
  await ask('POST', '/api/tasks', { name: 'idle', kind: 'A', targets: { pcIds: [idle.id] } });
  for (const { id } of (await ask('GET', '/api/tasks?status=running')).tasks)
    await ask('POST', `/api/tasks/${id}/cancel`, {});
  for (const held of taskDevices)
    await ask('POST', `/api/task-devices/${held.id}/complete`, { attempt: 1 }, busy.token);
  expect((await waiting).taskDevices).toHaveLength(1);
});
