import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Server } from '../src/main.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc } from '../testing/fake-pc.ts';
import { type Answer, type TestServer, testServer } from '../testing/test-server.ts';

/** So long that only a missing end makes a test wait for it. */
const WAIT = 25;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
async function parked(server: Pick<Server, 'engine'>, count = 1): Promise<void> {
  while (server.engine.parkedWaiters < count) await turn();
}

describe('a token that is revoked while its holder waits', () => {
  let t: TestServer;
  beforeAll(async () => {
    t = await testServer();
  });
  afterAll(() => t.close());

  interface Holder {
    wait(): Promise<Answer>;
    /** Every way in which the token may end. */
    end(): Promise<Answer>;
    enqueue(): Promise<unknown>;
    readonly code: string;
  }
  const doors: Record<string, () => Promise<Holder>> = {
    'a worker at a lane': async () => {
      const { id, token } = await t.token({ kind: 'worker', name: 'w' });
      return {
        wait: () => t.post('/api/lanes/revoked/claim', { worker: 'w', wait: WAIT }, { token }),
        end: () => t.del(`/api/tokens/${id}`),
        enqueue: () => t.post('/api/lanes/revoked/actions', { kind: 'x' }),
        code: 'MUSTER_UNAUTHORIZED',
      };
    },
    'a token that was rotated': async () => {
      const { id, token } = await t.token({ kind: 'worker', name: 'w' });
      const next = t.secret((await t.post(`/api/tokens/${id}/rotate`)).body.token);
      return {
        wait: () => t.post('/api/lanes/rotated/claim', { worker: 'w', wait: WAIT }, { token }),
        end: () => t.post('/api/lanes/other/claim', { worker: 'w' }, { token: next }),
        enqueue: () => t.post('/api/lanes/rotated/actions', { kind: 'x' }),
        code: 'MUSTER_UNAUTHORIZED',
      };
    },
    'the agent of a host': async () => {
      const { body } = await t.post('/api/hosts', { name: 'web' });
      const service = (await t.post(`/api/hosts/${body.id}/services`, { unitName: 'a.service' })).body;
      return {
        wait: () => t.get(`/api/control/queue?wait=${WAIT}`, { token: t.secret(body.agentToken) }),
        end: () => t.del(`/api/hosts/${body.id}/token`),
        enqueue: () => t.post(`/api/hosts/${body.id}/actions`, { serviceId: service.id, kind: 'restart' }),
        code: 'MUSTER_AGENT_TOKEN',
      };
    },
    'the agent of a host that is deleted': async () => {
      const { body } = await t.post('/api/hosts', { name: 'db' });
      return {
        wait: () => t.get(`/api/control/queue?wait=${WAIT}`, { token: t.secret(body.agentToken) }),
        end: () => t.del(`/api/hosts/${body.id}`),
        enqueue: async () => {},
        code: 'MUSTER_AGENT_TOKEN',
      };
    },
    'a device that is deleted': async () => {
      const device = await fakeDevice(t);
      return {
        wait: () => t.post('/api/checkin', { wait: WAIT }, { token: device.token }),
        end: () => t.del(`/api/devices/${device.id}`),
        enqueue: async () => {},
        code: 'MUSTER_DEVICE_REPLACED',
      };
    },
    'the runner of a PC': async () => {
      const pc = await fakePc(t, 1);
      return {
        wait: () => t.post(`/api/pcs/${pc.id}/claim`, { wait: WAIT }, { token: pc.token }),
        end: () => t.del(`/api/pcs/${pc.id}/token`),
        enqueue: async () => {},
        code: 'MUSTER_UNAUTHORIZED',
      };
    },
  };

  test.each(Object.keys(doors))('G63: is refused at once and gets nothing more: %s', async (door) => {
    const holder = await (doors[door] as () => Promise<Holder>)();
    const waiting = holder.wait();
    await parked(t);
    expect((await holder.end()).status).toBeLessThan(300);
    await holder.enqueue();
    expect(await waiting).toMatchObject({ status: 401, body: { code: holder.code } });
    expect(await holder.wait()).toMatchObject({ status: 401, body: { code: holder.code } });
    expect(t.engine.parkedWaiters).toBe(0);
  });

  test('G63: other waiting requests continue', async () => {
    const one = await t.token({ kind: 'worker', name: 'one' });
    const other = await t.token({ kind: 'worker', name: 'other' });
    const claim = ({ token }: { token: string }) =>
      t.post('/api/lanes/both/claim', { worker: token, wait: WAIT }, { token });
    const [first, second] = [claim(one), claim(other)];
    await parked(t, 2);
    await t.del(`/api/tokens/${one.id}`);
    const { body } = await t.post('/api/lanes/both/actions', { kind: 'x' });
    expect((await first).status).toBe(401);
    expect((await second).body.actions).toMatchObject([{ id: body.id, attempt: 1 }]);
  });
});

describe('when the limit of waiting requests is reached', () => {
  let t: TestServer;
  let held: Promise<Answer>;
  beforeAll(async () => {
    t = await testServer({ settings: { MUSTER_MAX_WAITING: '1' } });
    held = t.post('/api/lanes/taken/claim', { worker: 'w', wait: WAIT });
    await parked(t);
  });
  afterAll(async () => {
    await t.post('/api/lanes/taken/actions', { kind: 'x' });
    expect((await held).body.actions).toHaveLength(1);
    await t.close();
  });
  const refused = (answer: Answer, code: string) => {
    expect(answer).toMatchObject({ status: 503, body: { code } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(5);
  };

  test('G62: a request that finds nothing is refused with Retry-After at every door', async () => {
    const device = await fakeDevice(t);
    const pc = await fakePc(t, 0);
    const { body: host } = await t.post('/api/hosts', { name: 'full' });
    const full = 'MUSTER_TOO_MANY_WAITING';
    refused(await t.post('/api/lanes/full/claim', { worker: 'w', wait: WAIT }), full);
    refused(await t.post('/api/checkin', { wait: WAIT }, { token: device.token }), full);
    refused(await t.post(`/api/pcs/${pc.id}/claim`, { wait: WAIT }, { token: pc.token }), full);
    refused(
      await t.get(`/api/control/queue?wait=${WAIT}`, { token: t.secret(host.agentToken) }),
      'MUSTER_CONTROL_OVERLOADED',
    );
  });

  test('G62: a request that does not wait, or finds something, is answered as usual', async () => {
    expect(await t.post('/api/lanes/free/claim', { worker: 'w' })).toMatchObject({
      status: 200,
      body: { actions: [] },
    });
    const { body } = await t.post('/api/lanes/free/actions', { kind: 'x' });
    const found = await t.post('/api/lanes/free/claim', { worker: 'w', wait: WAIT });
    expect(found.body.actions).toMatchObject([{ id: body.id }]);
  });

  test('G62: an accepted report is never answered with a refusal', async () => {
    const device = await fakeDevice(t);
    await device.assign('LOCK');
    const { action } = await device.checkIn({ wait: WAIT });
    const result = { actionId: action.id, attempt: 1, status: 'done' as const };
    expect(await device.checkIn({ result, wait: WAIT })).toMatchObject({
      action: null,
      result: { accepted: true },
    });
    await t.post('/api/lanes/report/actions', { kind: 'x' });
    const [claimed] = (await t.post('/api/lanes/report/claim', { worker: 'w' })).body.actions;
    const report = { worker: 'w', attempt: 1, status: 'succeeded', next: { wait: WAIT } };
    expect(await t.post(`/api/actions/${claimed.id}/report`, report)).toMatchObject({
      status: 200,
      body: { accepted: true, actions: [] },
    });
  });
});
