import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenQueries } from '../src/tokens/queries.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Hosts, devices and PCs own their tokens in the same way, however they were rotated. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

interface Owner {
  readonly kind: 'agent' | 'device' | 'runner';
  readonly token: string;
  readonly path: string;
  /** Revokes all of its tokens and keeps the target. */
  endTokens(): Promise<number>;
  /** Asks for the queued work: a 401 must have taken nothing. */
  take(token: string): Promise<number>;
  /** The queued action; a PC has none until a task is active. */
  readonly actionId: string | null;
}

let made = 0;
const owners: Record<string, () => Promise<Owner>> = {
  async host() {
    made += 1;
    const { id, agentToken } = (await t.post('/api/hosts', { name: `host ${made}` })).body;
    const path = `/api/hosts/${id}`;
    const service = (await t.post(`${path}/services`, { unitName: 'nginx' })).body;
    const action = await t.post(`${path}/actions`, { serviceId: service.id, kind: 'restart' });
    return {
      kind: 'agent',
      token: t.secret(agentToken),
      path,
      endTokens: async () => (await t.del(`${path}/token`)).status,
      take: async (token) => (await t.get('/api/control/queue', { token })).status,
      actionId: action.body.id,
    };
  },
  async device() {
    const device = await fakeDevice(t);
    const path = `/api/devices/${device.id}`;
    return {
      kind: 'device',
      token: device.token,
      path,
      async endTokens() {
        const { status, body } = await t.post(`${path}/re-enrol`);
        t.secret(body.deviceToken);
        return status;
      },
      take: async (token) => (await t.post('/api/checkin', {}, { token })).status,
      actionId: await device.assign('LOCK'),
    };
  },
  async pc() {
    const pc = await fakePc(t);
    return {
      kind: 'runner',
      token: pc.token,
      path: `/api/pcs/${pc.id}`,
      endTokens: async () => (await t.del(`/api/pcs/${pc.id}/token`)).status,
      take: async (token) => (await t.post(`/api/pcs/${pc.id}/claim`, {}, { token })).status,
      actionId: null,
    };
  },
};

const newestId = async ({ kind }: Owner): Promise<string> =>
  (await t.get(`/api/tokens?kind=${kind}&limit=1`)).body.tokens[0].id;

/** By the number of the token, as for any token, or by its owner, as its door does. */
async function rotateByNumber(id: string): Promise<{ id: string; token: string }> {
  const { status, body } = await t.post(`/api/tokens/${id}/rotate`);
  expect(status).toBe(201);
  t.secret(body.token);
  return body;
}
async function rotateByOwner(owner: Owner): Promise<string> {
  const { status, body } = await t.post(`${owner.path}/token`);
  expect(status).toBe(201);
  return t.secret(body.agentToken ?? body.deviceToken ?? body.runnerToken);
}

describe.each(Object.keys(owners))('of a %s', (name) => {
  const newOwner = owners[name] as () => Promise<Owner>;

  test.each([
    ['the end of all its tokens', (owner: Owner) => owner.endTokens()],
    ['its deletion', async (owner: Owner) => (await t.del(owner.path)).status],
  ])('G72: a rotated token ends with %s', async (_what, end) => {
    const owner = await newOwner();
    const rotated = await rotateByNumber(await newestId(owner));
    expect([201, 204]).toContain(await end(owner));
    for (const token of [rotated.token, owner.token]) expect(await owner.take(token)).toBe(401);
    if (owner.actionId === null) return;
    const { events } = (await t.get(`/api/actions/${owner.actionId}`)).body;
    expect(events.map(({ type }: { type: string }) => type)).not.toContain('SENT');
  });

  test('G72: of several rotations only the token in use and the newest stay valid', async () => {
    const owner = await newOwner();
    await owner.take(owner.token);
    const first = await newestId(owner);
    const passedOver = [
      (await rotateByNumber(first)).token, // from the token in use
      (await rotateByNumber(await newestId(owner))).token, // from the newest
      await rotateByOwner(owner),
    ];
    const { id, token } = await rotateByNumber(first);
    expect((await t.get(`/api/tokens?kind=${owner.kind}&limit=1`)).body.tokens).toMatchObject([
      { id, replaces: first },
    ]);
    for (const one of passedOver) expect(await owner.take(one)).toBe(401);
    expect(await owner.take(owner.token)).not.toBe(401);
    expect(await owner.take(token)).not.toBe(401);
    for (const one of [...passedOver, owner.token]) expect(await owner.take(one)).toBe(401);
    expect(await owner.take(token)).not.toBe(401);
  });
});

test('G72: two tokens first used in one statement: the newer one ends the older', async () => {
  const { db, schema } = t.engine;
  const old = await t.token({ kind: 'worker', name: 'never used' });
  const anew = (await t.post(`/api/tokens/${old.id}/rotate`)).body;
  t.secret(anew.token);
  const both = [old, anew].map(({ id }) => ({ tenantId: 1, tokenId: id }));
  expect(await createTokenQueries(schema).markFirstUses(db, both)).toEqual([
    { valid: true, marked: true, ended: null },
    { valid: true, marked: true, ended: old.id },
  ]);
  const claim = async (token: string) =>
    (await t.post('/api/lanes/both/claim', { worker: 'w' }, { token })).status;
  expect([await claim(old.token), await claim(anew.token)]).toEqual([401, 200]);
});
