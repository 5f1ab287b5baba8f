import { type FakeDevice, fakeDevice } from './fake-device.ts';
import type { Answer, TestServer } from './test-server.ts';

/** A PC as in the field: a runner with a token, and the devices attached to it. */
export interface Held {
  readonly id: string;
  readonly taskId: string;
  readonly deviceId: string;
  readonly attempt: number;
}

export interface FakePc {
  readonly id: string;
  token: string;
  readonly devices: FakeDevice[];
  claim(body?: object): Promise<Held[]>;
  running(): Promise<Held[]>;
  show(): Promise<Answer['body']>;
  /** `complete`, `fail`, `ack` or `heartbeat`; the attempt is that of the hand-out by default. */
  say(what: string, held: { id: string; attempt: number }, more?: object): Promise<Answer['body']>;
  complete(held: { id: string; attempt: number }, more?: object): Promise<Answer['body']>;
  fail(held: { id: string; attempt: number }, more?: object): Promise<Answer['body']>;
}

let made = 0;

async function ok(answer: Promise<Answer>, status = 200): Promise<Answer['body']> {
  const got = await answer;
  if (got.status !== status)
    throw new Error(`${got.status} instead of ${status}: ${JSON.stringify(got.body)}`);
  return got.body;
}

export async function fakePc(
  t: TestServer,
  devices = 0,
  more: { slots?: number; tags?: string[] } = {},
): Promise<FakePc> {
  made += 1;
  const body = { name: `pc ${made}`, ...(more.slots === undefined ? {} : { slots: more.slots }) };
  const { id, runnerToken } = await ok(t.post('/api/pcs', body), 201);
  const pc: FakePc = {
    id,
    token: t.secret(runnerToken),
    devices: [],
    claim: async (wish = {}) =>
      (await ok(t.post(`/api/pcs/${id}/claim`, wish, { token: pc.token }))).taskDevices,
    running: async () => (await ok(t.get(`/api/pcs/${id}/running`, { token: pc.token }))).taskDevices,
    show: () => ok(t.get(`/api/pcs/${id}`)),
    say: (what, held, said = {}) =>
      ok(
        t.post(
          `/api/task-devices/${held.id}/${what}`,
          { attempt: held.attempt, ...said },
          { token: pc.token },
        ),
      ),
    complete: (held, said = {}) => pc.say('complete', held, said),
    fail: (held, said = {}) => pc.say('fail', held, { error: 'broken', ...said }),
  };
  for (let n = 0; n < devices; n += 1)
    pc.devices.push(await fakeDevice(t, { pcId: id, ...(more.tags ? { tags: more.tags } : {}) }));
  return pc;
}

export async function newTask(t: TestServer, targets: object, more: object = {}): Promise<Answer['body']> {
  return ok(t.post('/api/tasks', { name: 'update', kind: 'UPDATE', targets, ...more }), 201);
}

export async function showTask(t: TestServer, id: string): Promise<Answer['body']> {
  return ok(t.get(`/api/tasks/${id}`));
}
