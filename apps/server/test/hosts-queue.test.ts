import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type House, hostsHouse } from '../testing/hosts-house.ts';

/** GET /api/control/queue, row by row of the protocol's tables. */
let house: House;
beforeAll(async () => {
  house = await hostsHouse();
});
afterAll(() => house.close());

const MAX = 'Max parameter must be between 1 and 10';
const WAIT = 'Wait parameter must be between 0 and 25 seconds';
const HEADER = 'Authorization header with Bearer token required';
const TOKEN = 'Unauthorized. Valid agent token required.';
const COOKIES = 'Cookies not allowed for agent endpoints';

function expectHeaders(headers: { get(name: string): string | null }) {
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('vary')).toBe('Authorization');
  expect(headers.get('connection')).toBe('keep-alive');
}

/** One raw request, for what fetch hides or would change. */
function raw(head: string): Promise<string> {
  const { port } = new URL(house.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(`${head}\r\nhost: x\r\n\r\n`));
    socket.on('data', (chunk) => {
      text += chunk;
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end >= 0 && (/^HEAD/.test(head) || text.length >= end + 4 + length)) {
        socket.destroy();
        resolve(text);
      }
    });
    socket.on('error', reject);
  });
}

describe('parameters', () => {
  it.each([
    ['max=0', MAX],
    ['max=11', MAX],
    ['max=15', MAX],
    ['max=-1', MAX],
    ['max=1.5', MAX],
    ['max=1e1', MAX],
    ['max=0x1', MAX],
    ['max=', MAX],
    ['max=abc', MAX],
    ['max=%201', MAX],
    ['max=1&max=2', MAX],
    ['max=11&wait=26', MAX],
    ['wait=26', WAIT],
    ['wait=-1', WAIT],
    ['wait=0.5', WAIT],
    ['wait=1e1', WAIT],
    ['wait=', WAIT],
    ['wait=abc', WAIT],
    ['wait=1&wait=1', WAIT],
  ])('%s is refused with the sentence that agents know', async (query, sentence) => {
    const { token } = await house.host();
    const answer = await house.poll(token, `?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe(sentence);
    expect(answer.body.code).toMatch(/^MUSTER_BAD_(MAX|WAIT)$/);
    expectHeaders(answer.headers);
  });

  it('takes one action by default and as many as max says, 10 at most', async () => {
    const { id, token } = await house.host();
    for (let n = 0; n < 14; n += 1) await house.queue(id, await house.service(id));
    expect((await house.poll(token)).body.actions).toHaveLength(1);
    expect((await house.poll(token, '?max=3')).body.actions).toHaveLength(3);
    expect((await house.poll(token, '?max=10')).body.actions).toHaveLength(10);
    expect((await house.poll(token, '?max=10')).status).toBe(204);
  });

  it('ignores unknown parameters', async () => {
    const { token } = await house.host();
    expect((await house.poll(token, '?colour=red')).status).toBe(204);
  });
});

describe('answers', () => {
  it('200 has the locked action with every field that agents know, and the attempt that fences it', async () => {
    const { id, token } = await house.host();
    const body = { unitName: 'nginx.service', displayName: 'Web server', description: 'Serves pages' };
    const service = await house.call('POST', `/api/hosts/${id}/services`, { body });
    const queued = await house.queue(id, service.body.id, { kind: 'start' });
    const answer = await house.poll(token);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expectHeaders(answer.headers);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(answer.body).toEqual({
      actions: [
        {
          id: queued,
          hostId: id,
          serviceId: service.body.id,
          kind: 'start',
          status: 'running',
          startedAt: time,
          requestedAt: time,
          service: { id: service.body.id, ...body },
          attempt: 1,
          leaseUntil: time,
          priority: 'normal',
        },
      ],
    });
    const [action] = answer.body.actions;
    expect(Date.parse(action.leaseUntil) - Date.parse(action.startedAt)).toBe(300_000);
  });

  it('204 has no body', async () => {
    const { token } = await house.host();
    const answer = await house.poll(token, '?wait=0&max=10');
    expect(answer.status).toBe(204);
    expect(answer.body).toBeNull();
    expectHeaders(answer.headers);
  });

  it('500 keeps the headers and reveals nothing internal', async () => {
    const { token } = await house.host();
    const before = house.engine.claimSlots;
    house.engine.claimSlots = () => Promise.reject(new Error('a secret of the inside'));
    const answer = await house.poll(token).finally(() => {
      house.engine.claimSlots = before;
    });
    expect(answer.status).toBe(500);
    expect(answer.body.error).not.toContain('secret');
    expectHeaders(answer.headers);
  });

  it('404 has the headers too, on every path under /api/control and no other', async () => {
    const { token } = await house.host();
    for (const path of [
      '/api/control',
      '/api/control/',
      '/api/control/nothing',
      '/api/control/queue/1?max=2',
    ]) {
      const answer = await house.call('GET', path, { token });
      expect(answer.status).toBe(404);
      expectHeaders(answer.headers);
    }
    const bad = await house.call('GET', '/api/control/%zz', { token });
    expect(bad.status).toBe(400);
    expect(bad.headers.get('cache-control')).toBe('no-store');
    expect((await house.call('GET', '/api/controls', { token })).headers.get('vary')).toBeNull();
  });

  it('advises the longest wait while there is space', async () => {
    const { token } = await house.host();
    expect((await house.poll(token)).headers.get('muster-next-poll')).toBe('after=0, wait=25');
  });

  it('keeps the connection alive', async () => {
    const { token } = await house.host();
    for (const authorization of [`Bearer ${token}`, 'Bearer wrong'])
      expect(await raw(`GET /api/control/queue HTTP/1.1\r\nauthorization: ${authorization}`)).toMatch(
        /\r\nconnection: keep-alive\r\n/i,
      );
  });
});

describe('access', () => {
  const agentPaths: [string, string][] = [
    ['GET', '/api/control/queue'],
    ['GET', '/api/control/running'],
    ['POST', '/api/control/report'],
    ['POST', '/api/control/heartbeat'],
  ];

  it.each(agentPaths)('%s %s refuses cookies before anything else', async (method, path) => {
    for (const token of [null, 'wrong', (await house.host()).token]) {
      const answer = await house.call(method, `${path}?max=99`, { token, headers: { cookie: 'a=b' } });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toBe(COOKIES);
      expectHeaders(answer.headers);
    }
  });

  it.each(agentPaths)('%s %s requires a bearer token in the header', async (method, path) => {
    for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic YTpi', 'token x', 'Bearer a b']) {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await house.call(method, `${path}?max=99`, { token: null, headers });
      expect([answer.status, answer.body.error]).toEqual([401, HEADER]);
      expectHeaders(answer.headers);
    }
  });

  it.each(agentPaths)('%s %s requires the token of an agent', async (method, path) => {
    const { token } = await house.host();
    const others = [
      'short',
      `${token}x`,
      token.replace('_1_', '_2_'),
      token.replace('agent', 'worker'),
      undefined,
    ];
    for (const other of others) {
      const answer = await house.call(method, `${path}?max=99`, other === undefined ? {} : { token: other });
      expect([answer.status, answer.body.error]).toEqual([401, TOKEN]);
      expectHeaders(answer.headers);
    }
  });

  it('an agent is refused at the doors of operators', async () => {
    const { id, token } = await house.host();
    for (const path of ['/api/hosts', `/api/hosts/${id}`, `/api/hosts/${id}/actions`, '/api/actions'])
      expect((await house.call('GET', path, { token })).status).toBe(403);
  });

  it('an agent gets only actions of its own host', async () => {
    const [one, other] = [await house.host(), await house.host()];
    const id = await house.queue(one.id, await house.service(one.id));
    expect((await house.poll(other.token, '?max=10')).status).toBe(204);
    expect((await house.poll(one.token)).body.actions[0].id).toBe(id);
  });

  it('another method, including HEAD, is refused with the headers and locks nothing', async () => {
    const { id, token } = await house.host();
    const action = await house.queue(id, await house.service(id));
    const head = await raw(`HEAD /api/control/queue HTTP/1.1\r\nauthorization: Bearer ${token}`);
    expect(head).toMatch(/^HTTP\/1.1 405 /);
    for (const header of [
      /\r\ncache-control: no-store\r\n/i,
      /\r\nvary: Authorization\r\n/i,
      /\r\nallow: GET\r\n/i,
    ])
      expect(head).toMatch(header);
    expect(head).toMatch(/\r\nconnection: keep-alive\r\n/i);
    expect((await house.call('POST', '/api/control/queue', { token, body: {} })).status).toBe(405);
    expect((await house.action(id, action)).status).toBe('queued');
  });
});

describe('order and locking', () => {
  it('a locked action does not come again, and running lists it', async () => {
    const { id, token } = await house.host();
    const action = await house.queue(id, await house.service(id));
    const [locked] = (await house.poll(token, '?max=10')).body.actions;
    expect((await house.poll(token, '?max=10')).status).toBe(204);
    const running = await house.call('GET', '/api/control/running', { token });
    expect(running.body.actions).toEqual([locked]);
    expectHeaders(running.headers);
    expect((await house.action(id, action)).status).toBe('running');
  });

  it('two polls at once never get the same action', async () => {
    const { id, token } = await house.host();
    const queued = [];
    for (let n = 0; n < 20; n += 1) queued.push(await house.queue(id, await house.service(id)));
    const answers = await Promise.all(Array.from({ length: 20 }, () => house.poll(token, '?max=2')));
    const got = answers.flatMap((answer) =>
      (answer.body?.actions ?? []).map((action: { id: string }) => action.id),
    );
    expect(new Set(got).size).toBe(got.length);
    const rest = (await house.poll(token, '?max=10')).body?.actions ?? [];
    expect([...got, ...rest.map((action: { id: string }) => action.id)].sort()).toEqual(queued.sort());
  });

  it('a service runs one action at a time in the order of the requests, urgent ones first', async () => {
    const { id, token } = await house.host();
    const service = await house.service(id);
    const [first, second] = [await house.queue(id, service), await house.queue(id, service)];
    const urgent = await house.queue(id, service, { priority: 'urgent' });
    const order = [];
    for (let n = 0; n < 3; n += 1) {
      const { actions } = (await house.poll(token, '?max=10')).body;
      expect(actions).toHaveLength(1);
      order.push(actions[0].id);
      expect((await house.poll(token, '?max=10')).status).toBe(204);
      await house.report(token, { actionId: actions[0].id, attempt: 1, status: 'succeeded' });
    }
    expect(order).toEqual([urgent, first, second]);
  });

  it('services run in parallel, the oldest action first, without a limit unless there are slots', async () => {
    const { id, token } = await house.host('with slots', 2);
    const queued = [];
    for (let n = 0; n < 3; n += 1) queued.push(await house.queue(id, await house.service(id)));
    const { actions } = (await house.poll(token, '?max=10')).body;
    expect(actions.map((action: { id: string }) => action.id)).toEqual(queued.slice(0, 2));
    const third = await house.action(id, queued[2] as string);
    expect(third.waitingFor.code).toBe('NO_FREE_SLOT');
    await house.call('PATCH', `/api/hosts/${id}`, { body: { slots: null } });
    expect((await house.poll(token, '?max=10')).body.actions[0].id).toBe(queued[2]);
  });
});

describe('waiting', () => {
  /** Waits until the server has this many parked requests. */
  async function parked(count: number) {
    while (house.engine.parkedWaiters !== count) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  it('an action that is queued meanwhile comes at once', async () => {
    const { id, token } = await house.host();
    const service = await house.service(id);
    const waiting = house.poll(token, '?wait=25');
    await parked(1);
    const action = await house.queue(id, service);
    expect((await waiting).body.actions[0].id).toBe(action);
  });

  it('an action for a service that was created meanwhile comes too', async () => {
    const { id, token } = await house.host();
    const waiting = house.poll(token, '?wait=25');
    await parked(1);
    const action = await house.queue(id, await house.service(id));
    expect((await waiting).body.actions[0].id).toBe(action);
  });

  it('a freed service, a freed slot and a resumed queue wake the waiting agent', async () => {
    const { id, token } = await house.host('woken by everything', 1);
    const [one, other] = [await house.service(id), await house.service(id)];
    const first = await house.queue(id, one);
    const second = await house.queue(id, one);
    const third = await house.queue(id, other);
    await house.poll(token);
    for (const [done, next] of [
      [first, second],
      [second, third],
    ] as const) {
      const waiting = house.poll(token, '?wait=25');
      await parked(1);
      await house.report(token, { actionId: done, attempt: 1, status: 'succeeded' });
      expect((await waiting).body.actions[0].id).toBe(next);
    }
  });

  it('ends after the requested time, and at most a tenth earlier', async () => {
    const { token } = await house.host();
    const began = performance.now();
    const answer = await house.poll(token, '?wait=1');
    const took = performance.now() - began;
    expect(answer.status).toBe(204);
    expect(took).toBeGreaterThan(900);
    expectHeaders(answer.headers);
  });

  it('an agent that hangs up locks nothing', async () => {
    const { id, token } = await house.host();
    const service = await house.service(id);
    const gone = new AbortController();
    const waiting = fetch(`${house.url}/api/control/queue?wait=25`, {
      headers: { authorization: `Bearer ${token}` },
      signal: gone.signal,
    }).catch(() => 'gone');
    await parked(1);
    gone.abort();
    expect(await waiting).toBe('gone');
    await parked(0);
    const action = await house.queue(id, service);
    expect((await house.poll(token)).body.actions[0]).toMatchObject({ id: action, attempt: 1 });
  });

  it('costs no statement', async () => {
    const { token } = await house.host();
    const own = () => house.statements.filter((text) => /claim|token|hosts|services/.test(text)).length;
    const claims = () => house.statements.filter((text) => text === 'muster_claim_slots').length;
    const looks = claims();
    const waiting = house.poll(token, '?wait=2');
    while (claims() === looks) await new Promise((resolve) => setTimeout(resolve, 2));
    const before = own();
    await waiting;
    // apart from the host's last contact, which is written once a minute
    expect(own() - before).toBeLessThanOrEqual(1);
  });

  it('is refused with Retry-After only when too many wait', async () => {
    const small = await hostsHouse({ MUSTER_MAX_WAITING: '1' });
    try {
      const { id, token } = await small.host();
      const other = await small.host();
      const waiting = small.poll(token, '?wait=25');
      while (small.engine.parkedWaiters < 1) await new Promise((resolve) => setTimeout(resolve, 2));
      const refused = await small.poll(other.token, '?wait=5');
      expect(refused.status).toBe(503);
      expect(refused.body.code).toBe('MUSTER_CONTROL_OVERLOADED');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(5);
      expectHeaders(refused.headers);
      const unhurried = await small.poll(other.token, '?wait=0');
      expect(unhurried.status).toBe(204);
      expect(unhurried.headers.get('retry-after')).toBeNull();
      expect(unhurried.headers.get('muster-next-poll')).toMatch(/^after=([1-9]|1[0-5]), wait=10$/);
      await small.queue(id, await small.service(id));
      expect((await waiting).status).toBe(200);
    } finally {
      await small.close();
    }
  });
});
