import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type House, hostsHouse } from '../testing/hosts-house.ts';

/** Hosts, services and actions, as operators use them. */
let house: House;
beforeAll(async () => {
  house = await hostsHouse();
});
afterAll(() => house.close());

const codeOf = (answer: { status: number; body: { code: string } }) => [answer.status, answer.body.code];

describe('hosts', () => {
  it('are added with a token that is shown once', async () => {
    const answer = await house.call('POST', '/api/hosts', { body: { name: 'web-1', slots: 3 } });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body).sort()).toEqual(['agentToken', 'id', 'name']);
    const host = await house.call('GET', `/api/hosts/${answer.body.id}`);
    expect(host.body).toMatchObject({
      id: answer.body.id,
      name: 'web-1',
      slots: 3,
      online: false,
      lastSeenAt: null,
    });
    expect(JSON.stringify((await house.call('GET', '/api/hosts')).body)).not.toContain(
      answer.body.agentToken,
    );
  });

  it('have unique names', async () => {
    await house.host('twice');
    const again = await house.call('POST', '/api/hosts', { body: { name: 'twice' } });
    expect(codeOf(again)).toEqual([409, 'MUSTER_HOST_EXISTS']);
    const { id } = await house.host('once');
    expect(codeOf(await house.call('PATCH', `/api/hosts/${id}`, { body: { name: 'twice' } }))).toEqual([
      409,
      'MUSTER_HOST_EXISTS',
    ]);
    expect((await house.call('PATCH', `/api/hosts/${id}`, { body: { name: 'once more' } })).body.name).toBe(
      'once more',
    );
  });

  it('are listed page by page', async () => {
    for (let n = 0; n < 3; n += 1) await house.host();
    const all: string[] = [];
    let cursor = '';
    do {
      const { body } = await house.call('GET', `/api/hosts?limit=2${cursor}`);
      all.push(...body.hosts.map((host: { id: string }) => host.id));
      cursor = body.cursor === null ? '' : `&cursor=${body.cursor}`;
    } while (cursor !== '');
    expect(new Set(all).size).toBe(all.length);
    expect(all).toEqual(
      (await house.call('GET', '/api/hosts?limit=500')).body.hosts.map((host: { id: string }) => host.id),
    );
    expect((await house.call('GET', '/api/hosts?cursor=x')).status).toBe(400);
  });

  it('are online after a contact of their agent', async () => {
    const { id, token } = await house.host();
    await house.poll(token);
    for (;;) {
      const { body } = await house.call('GET', `/api/hosts/${id}`);
      if (body.online) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  it('are filtered by a part of the name and by presence, also with their load', async () => {
    const quiet = await house.host('sought_1');
    await house.host('soughtX1');
    const found = async (path: string) =>
      (await house.call('GET', path)).body.hosts.map((host: { id: string }) => host.id);
    for (const path of ['/api/hosts', '/api/hosts/load']) {
      expect(await found(`${path}?text=OUGHT_`)).toEqual([quiet.id]);
      expect(await found(`${path}?text=sought&online=true`)).toEqual([]);
      expect(await found(`${path}?text=sought&online=false&limit=1`)).toEqual([quiet.id]);
    }
  });
});

describe('tokens of agents', () => {
  it('are rotated: the old one is valid until the new one is used', async () => {
    const { id, token } = await house.host();
    const rotated = await house.call('POST', `/api/hosts/${id}/token`);
    expect(rotated.status).toBe(201);
    expect((await house.poll(token)).status).toBe(204);
    expect((await house.poll(rotated.body.agentToken)).status).toBe(204);
    expect((await house.poll(token)).status).toBe(401);
  });

  it('are revoked all at once, and a new one lets the host in again', async () => {
    const { id, token } = await house.host();
    const second = (await house.call('POST', `/api/hosts/${id}/token`)).body.agentToken;
    expect((await house.call('DELETE', `/api/hosts/${id}/token`)).status).toBe(204);
    for (const old of [token, second]) expect((await house.poll(old)).status).toBe(401);
    expect(codeOf(await house.call('DELETE', `/api/hosts/${id}/token`))).toEqual([
      409,
      'MUSTER_NO_AGENT_TOKEN',
    ]);
    const third = (await house.call('POST', `/api/hosts/${id}/token`)).body.agentToken;
    expect((await house.poll(third)).status).toBe(204);
  });

  it('come from a reusable enrolment token, which allows nothing else', async () => {
    const issued = await house.call('POST', '/api/tokens', {
      body: { kind: 'host-enrolment', name: 'racks' },
    });
    const { token } = issued.body;
    const secret = 'a-secret-that-the-host-made-up-by-itself';
    const enrol = (body: object) => house.call('POST', '/api/hosts/enrol', { token, body });
    const one = await enrol({ name: 'rack-1', secret });
    const two = await enrol({ name: 'rack-2' });
    expect([one.status, two.status]).toEqual([201, 201]);
    expect((await house.poll(one.body.agentToken)).status).toBe(204);
    // the response was lost, so the host asks again and is still the same host
    const again = await enrol({ name: 'rack-1', secret });
    expect([again.status, again.body.id]).toEqual([201, one.body.id]);
    expect((await house.poll(again.body.agentToken)).status).toBe(204);
    expect((await house.poll(one.body.agentToken)).status).toBe(401);
    expect(codeOf(await enrol({ name: 'rack-2' }))).toEqual([409, 'MUSTER_HOST_EXISTS']);
    expect((await house.poll(token)).status).toBe(401);
    expect((await house.call('GET', '/api/hosts', { token })).status).toBe(403);
    expect((await house.call('POST', '/api/hosts/enrol', { body: { name: 'x' } })).status).toBe(403);
  });
});

describe('services', () => {
  it.each([
    'nginx',
    'nginx.service',
    'getty@tty1.service',
    'a-b_c:d.timer',
    'foo@bar\\x2dbaz.service',
    '1.service',
  ])('of the unit %s are added', async (unitName) => {
    const { id } = await house.host();
    const answer = await house.call('POST', `/api/hosts/${id}/services`, { body: { unitName } });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ hostId: id, unitName, displayName: unitName, description: '' });
  });

  it.each([
    '',
    '-x',
    '--now',
    '.x',
    'a b',
    'a;b',
    'a/b',
    '../x',
    '*',
    'a*',
    'a\n',
    '$(id)',
    'ä',
    `a${'b'.repeat(255)}`,
    'a\\y',
  ])('of the unit %j are refused', async (unitName) => {
    const { id } = await house.host();
    expect((await house.call('POST', `/api/hosts/${id}/services`, { body: { unitName } })).status).toBe(400);
  });

  it('are unique per unit, with or without .service', async () => {
    const { id } = await house.host();
    await house.service(id, 'nginx');
    const again = await house.call('POST', `/api/hosts/${id}/services`, {
      body: { unitName: 'nginx.service' },
    });
    expect(codeOf(again)).toEqual([409, 'MUSTER_UNIT_EXISTS']);
    await house.service(id, 'nginx.socket');
  });

  it('are renamed, and the next hand-out has the new name', async () => {
    const { id, token } = await house.host();
    const service = await house.service(id, 'db.service');
    await house.queue(id, service);
    await house.queue(id, service);
    const [first] = (await house.poll(token)).body.actions;
    expect(first.service.displayName).toBe('db.service');
    const body = { displayName: 'Database', description: 'The one' };
    const changed = await house.call('PATCH', `/api/hosts/${id}/services/${service}`, { body });
    expect(changed.body).toMatchObject({ unitName: 'db.service', ...body });
    await house.report(token, { actionId: first.id, attempt: 1, status: 'succeeded' });
    expect((await house.poll(token)).body.actions[0].service).toEqual({
      id: service,
      unitName: 'db.service',
      ...body,
    });
  });

  it('cancel their unfinished actions when they are deleted', async () => {
    const { id, token } = await house.host();
    const [service, other] = [await house.service(id, 'gone.service'), await house.service(id)];
    const [running, queued] = [await house.queue(id, service), await house.queue(id, service)];
    await house.poll(token);
    const stays = await house.queue(id, other);
    expect((await house.call('DELETE', `/api/hosts/${id}/services/${service}`)).status).toBe(204);
    for (const action of [running, queued])
      expect(await house.action(id, action)).toMatchObject({ status: 'cancelled', reason: 'GENERATION' });
    expect(
      (await house.report(token, { actionId: running, attempt: 1, status: 'succeeded' })).body,
    ).toMatchObject({
      accepted: false,
      status: 'cancelled',
    });
    expect(
      (await house.poll(token, '?max=10')).body.actions.map((action: { id: string }) => action.id),
    ).toEqual([stays]);
    const body = { serviceId: service, kind: 'start' };
    expect(codeOf(await house.call('POST', `/api/hosts/${id}/actions`, { body }))).toEqual([
      404,
      'MUSTER_UNKNOWN_SERVICE',
    ]);
    await house.service(id, 'gone.service');
  });

  it('are deleted with their host, and its agent is refused', async () => {
    const { id, token } = await house.host('to be deleted');
    const action = await house.queue(id, await house.service(id));
    expect((await house.call('DELETE', `/api/hosts/${id}`)).status).toBe(204);
    expect((await house.poll(token)).status).toBe(401);
    expect((await house.call('GET', `/api/hosts/${id}`)).status).toBe(404);
    expect((await house.call('GET', `/api/actions/${action}`)).body.state).toBe('cancelled');
    await house.host('to be deleted');
  });
});

describe('actions', () => {
  it('are queued with the reason why they wait', async () => {
    const { id, token } = await house.host();
    const service = await house.service(id);
    const body = { serviceId: service, kind: 'stop', priority: 'urgent', deliverBy: '2100-01-01T00:00:00Z' };
    const answer = await house.call('POST', `/api/hosts/${id}/actions`, { body });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      hostId: id,
      serviceId: service,
      kind: 'stop',
      status: 'queued',
      priority: 'urgent',
      attempt: 0,
      maxAttempts: 3,
      deliverBy: '2100-01-01T00:00:00.000Z',
      waitingFor: { code: 'OFFLINE' },
    });
    const behind = await house.call('POST', `/api/hosts/${id}/actions`, {
      body: { serviceId: service, kind: 'start' },
    });
    expect(behind.body.waitingFor).toMatchObject({ code: 'BEHIND', actionId: answer.body.id });
    await house.poll(token);
    expect((await house.action(id, answer.body.id)).waitingFor.code).toBe('RUNNING');
  });

  it('are queued once for one Idempotency-Key', async () => {
    const { id } = await house.host();
    const body = { serviceId: await house.service(id), kind: 'start' };
    const headers = { 'idempotency-key': `key of ${id}` };
    const first = await house.call('POST', `/api/hosts/${id}/actions`, { body, headers });
    const again = await house.call('POST', `/api/hosts/${id}/actions`, { body, headers });
    expect([first.status, again.status, again.body.id]).toEqual([201, 200, first.body.id]);
    const other = await house.call('POST', `/api/hosts/${id}/actions`, {
      body: { ...body, kind: 'stop' },
      headers,
    });
    expect(codeOf(other)).toEqual([409, 'MUSTER_IDEMPOTENCY_MISMATCH']);
  });

  it('are listed by status and service', async () => {
    const { id, token } = await house.host();
    const [one, other] = [await house.service(id), await house.service(id)];
    const [a, b, c] = [await house.queue(id, one), await house.queue(id, one), await house.queue(id, other)];
    await house.poll(token);
    const list = async (query: string) =>
      (await house.call('GET', `/api/hosts/${id}/actions${query}`)).body.actions.map(
        (action: { id: string }) => action.id,
      );
    expect(await list('')).toEqual([c, b, a]);
    expect(await list('?status=running')).toEqual([a]);
    expect(await list('?status=queued')).toEqual([c, b]);
    expect(await list('?status=unfinished&limit=2')).toEqual([c, b]);
    expect(await list(`?serviceId=${one}`)).toEqual([b, a]);
    expect(await list(`?cursor=${b}`)).toEqual([a]);
    const second = await house.host();
    expect((await house.call('GET', `/api/hosts/${second.id}/actions`)).body.actions).toEqual([]);
  });

  it('are cancelled, at once while they wait', async () => {
    const { id, token } = await house.host();
    const action = await house.queue(id, await house.service(id));
    const cancel = () =>
      house.call('POST', `/api/hosts/${id}/actions/${action}/cancel`, { body: { reason: 'no' } });
    expect((await cancel()).body.status).toBe('cancelled');
    expect((await cancel()).status).toBe(200);
    expect((await house.poll(token)).status).toBe(204);
    const done = await house.queue(id, await house.service(id));
    await house.poll(token);
    await house.report(token, { actionId: done, status: 'succeeded' });
    const late = await house.call('POST', `/api/hosts/${id}/actions/${done}/cancel`, { body: {} });
    expect(codeOf(late)).toEqual([409, 'MUSTER_FINISHED']);
  });

  it('expire if they are not handed out in time', async () => {
    const { id, token } = await house.host();
    const action = await house.queue(id, await house.service(id), { deliverBy: '2100-01-01T00:00:00Z' });
    await house.engine.db.query({
      text: `update muster.pending set deliver_by = '2001-01-01' where action_id = $1`,
      values: [action],
    });
    expect((await house.poll(token)).status).toBe(204);
    await house.engine.runDuty('expire');
    expect((await house.action(id, action)).status).toBe('expired');
  });

  it.each([
    [{ kind: 'start' }, 'serviceId'],
    [{ serviceId: '1', kind: 'reload' }, 'kind'],
    [{ serviceId: '1', kind: 'start', priority: 'high' }, 'priority'],
    [{ serviceId: '1', kind: 'start', deliverBy: 'tomorrow' }, 'deliverBy'],
    [{ serviceId: '1', kind: 'start', more: 1 }, 'more'],
  ])('%j are refused with a sentence about the field', async (body, field) => {
    const { id } = await house.host();
    const answer = await house.call('POST', `/api/hosts/${id}/actions`, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(field);
  });

  it('of other hosts are unknown', async () => {
    const [one, other] = [await house.host(), await house.host()];
    const service = await house.service(one.id);
    const action = await house.queue(one.id, service);
    const body = { serviceId: service, kind: 'start' };
    const answers = await Promise.all([
      house.call('POST', `/api/hosts/${other.id}/actions`, { body }),
      house.call('GET', `/api/hosts/${other.id}/actions/${action}`),
      house.call('POST', `/api/hosts/${other.id}/actions/${action}/cancel`, { body: {} }),
      house.call('GET', `/api/hosts/${other.id}/services/${service}`),
      house.call('PATCH', `/api/hosts/${other.id}/services/${service}`, { body: {} }),
      house.call('DELETE', `/api/hosts/${other.id}/services/${service}`),
      ...['99999999', 'x'].flatMap((id) => [
        house.call('GET', `/api/hosts/${id}`),
        house.call('PATCH', `/api/hosts/${id}`, { body: {} }),
        house.call('DELETE', `/api/hosts/${id}`),
        house.call('POST', `/api/hosts/${id}/token`),
        house.call('DELETE', `/api/hosts/${id}/token`),
        house.call('GET', `/api/hosts/${id}/services`),
        house.call('POST', `/api/hosts/${id}/services`, { body: { unitName: 'a' } }),
        house.call('POST', `/api/hosts/${id}/actions`, { body }),
        house.call('GET', `/api/hosts/${id}/actions`),
        house.call('GET', `/api/hosts/${id}/load`),
      ]),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect((await house.action(one.id, action)).status).toBe('queued');
  });
});

describe('the load of hosts', () => {
  it('shows depth, running and stuck actions, and how long the last ones took', async () => {
    let ahead = 0;
    // leases longer than an hour: housekeeping must not end them before the checks below
    const leases = { MUSTER_CONTROL_LEASE_SECONDS: '7200', MUSTER_CONTROL_MAX_LEASE_SECONDS: '7200' };
    const past = await hostsHouse(leases, { clock: () => new Date(Date.now() + ahead) });
    const { id, token } = await past.host();
    const [one, other] = [await past.service(id), await past.service(id)];
    const done = await past.queue(id, one);
    await past.poll(token);
    await past.report(token, { actionId: done, attempt: 1, status: 'succeeded' });
    const stuck = await past.queue(id, other);
    const queued = [await past.queue(id, other), await past.queue(id, other)];
    await past.poll(token);
    ahead = 3_600_000; // whatever runs has been running for an hour
    const load = (await past.call('GET', `/api/hosts/${id}/load?stuckAfterSeconds=3000`)).body;
    expect(load).toMatchObject({ id, queued: queued.length, running: 1, finished: { actions: 1 } });
    expect(load.stuck).toMatchObject([{ actionId: stuck, serviceId: other, attempt: 1 }]);
    for (const times of [load.finished.handOutMs, load.finished.processingMs])
      expect(times.p50).toBeLessThanOrEqual(times.most);
    const all = (await past.call('GET', '/api/hosts/load?stuckAfterSeconds=4000')).body.hosts;
    expect(all.find((host: { id: string }) => host.id === id)).toMatchObject({
      queued: 2,
      running: 1,
      stuck: [],
    });
    await past.close();
  });
});

describe('metrics', () => {
  it('count polls, by tenant and never by host', async () => {
    const { id, token } = await house.host();
    const actionId = await house.queue(id, await house.service(id));
    await house.poll(token);
    await house.poll(token);
    await house.report(token, { actionId, attempt: 1, status: 'succeeded' });
    const response = await fetch(`${house.url}/metrics`, {
      headers: { authorization: 'Bearer operator-token-of-the-control-tests-0123456789' },
    });
    const text = await response.text();
    for (const outcome of ['actions', 'empty'])
      expect(text).toMatch(
        new RegExp(`muster_control_polls_total\\{tenant="1",outcome="${outcome}"\\} [1-9]`),
      );
    for (const name of ['poll_wait', 'hand_out', 'processing'])
      expect(text).toMatch(new RegExp(`muster_control_${name}_seconds_count\\{tenant="1"[^}]*\\} [1-9]`));
    expect(
      text.split('\n').filter((line) => line.startsWith('muster_control') && /host|lane/.test(line)),
    ).toEqual([]);
  });
});
