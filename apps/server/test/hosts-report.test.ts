import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type House, hostsHouse } from '../testing/hosts-house.ts';

/** Reports and heartbeats of agents. */
let house: House;
let now = new Date('2026-03-01T12:00:00Z');
beforeAll(async () => {
  house = await hostsHouse({}, { clock: () => now });
});
afterAll(() => house.close());

/** Time passes, and the duties of that moment run. */
async function pass(seconds: number) {
  now = new Date(now.getTime() + seconds * 1_000);
  for (const duty of ['end-leases', 'make-due', 'expire']) await house.engine.runDuty(duty);
}

/** A host with one running action. */
async function running(more: object = {}) {
  const { id: hostId, token } = await house.host();
  const service = await house.service(hostId);
  const actionId = await house.queue(hostId, service, more);
  const [locked] = (await house.poll(token)).body.actions;
  expect(locked).toMatchObject({ id: actionId, attempt: 1 });
  return { hostId, token, service, actionId };
}

describe('a report', () => {
  it("ends the action and keeps the agent's data", async () => {
    const { hostId, token, actionId } = await running();
    const answer = await house.report(token, {
      actionId,
      attempt: 1,
      status: 'succeeded',
      exitCode: 0,
      message: 'done',
      output: 'started ✓',
    });
    expect([answer.status, answer.body]).toEqual([200, { accepted: true, status: 'succeeded' }]);
    expect(await house.action(hostId, actionId)).toMatchObject({
      status: 'succeeded',
      exitCode: 0,
      message: 'done',
      output: 'started ✓',
      waitingFor: null,
    });
  });

  it('gets the same answer when repeated, and changes nothing', async () => {
    const { token, hostId, actionId } = await running();
    const body = { actionId, attempt: 1, status: 'succeeded' };
    const first = await house.report(token, body);
    expect((await house.report(token, body)).body).toEqual(first.body);
    const { events } = await house.action(hostId, actionId);
    expect(events.map((event: { type: string }) => event.type)).toEqual(['CREATED', 'SENT', 'SUCCEEDED']);
  });

  it('G4: of a failure marked final ends the action, whatever attempts are left', async () => {
    const { hostId, token, actionId } = await running({ maxAttempts: 5 });
    const body = { actionId, attempt: 1, status: 'failed', final: true, message: 'NOT_ALLOWED: x' };
    for (const _ of ['first', 'again'])
      expect((await house.report(token, body)).body).toEqual({ accepted: true, status: 'failed' });
    const { events, ...action } = await house.action(hostId, actionId);
    expect(action).toMatchObject({ status: 'failed', reason: 'FAILED', attempt: 1, maxAttempts: 5 });
    expect(events.map((event: { type: string }) => event.type)).toEqual([
      'CREATED',
      'SENT',
      'FAILED',
      'FAILED_FINAL',
    ]);
    const done = await running();
    const success = { actionId: done.actionId, attempt: 1, status: 'succeeded', final: true };
    expect((await house.report(done.token, success)).body).toEqual({ accepted: true, status: 'succeeded' });
  });

  it('G13: of a failure does not change the order of a service, unless the action has skip', async () => {
    for (const [more, comesNext] of [
      [{}, 'nobody'],
      [{ headOfLine: 'hold' }, 'nobody'],
      [{ headOfLine: 'skip' }, 'stop'],
    ] as const) {
      const { hostId, token, service, actionId } = await running(more);
      await house.queue(hostId, service, { kind: 'stop' });
      const next = { max: 1 };
      const failed = { actionId, attempt: 1, status: 'failed', next };
      const { actions } = (await house.report(token, failed)).body;
      expect(actions[0]?.kind ?? 'nobody').toBe(comesNext);
      if (comesNext === 'nobody') expect((await house.poll(token)).status).toBe(204);
      await pass(10);
      const then = comesNext === 'nobody' ? { id: actionId, attempt: 2, kind: 'restart' } : undefined;
      expect((await house.poll(token)).body?.actions[0]).toEqual(then && expect.objectContaining(then));
    }
  });

  it('respects maxAttempts and leaseSeconds of the action, also after heartbeats and a redrive', async () => {
    const { hostId, token, actionId } = await running({ maxAttempts: 1, leaseSeconds: 40 });
    const untilIn = async () => Date.parse((await house.action(hostId, actionId)).leaseUntil) - now.getTime();
    expect(await untilIn()).toBe(40_000);
    await pass(30);
    const actions = [{ id: actionId, attempt: 1 }];
    await house.call('POST', '/api/control/heartbeat', { token, body: { actions } });
    expect(await untilIn()).toBe(40_000);
    await pass(40);
    expect(await house.action(hostId, actionId)).toMatchObject({
      status: 'failed',
      reason: 'TIMEOUT',
      maxAttempts: 1,
      leaseSeconds: 40,
    });
    await house.call('POST', `/api/actions/${actionId}/redrive`, { body: {} });
    expect((await house.poll(token)).body.actions).toMatchObject([{ id: actionId, attempt: 2 }]);
    expect(await untilIn()).toBe(40_000);
  });

  it.each([
    [{ headOfLine: 'first' }, 'headOfLine must be one of skip, hold.'],
    [{ maxAttempts: 0 }, 'maxAttempts must be from 1 to 1000.'],
    [{ maxAttempts: 1.5 }, 'maxAttempts must be a whole number.'],
    [{ leaseSeconds: 0 }, 'leaseSeconds must be from 1 to 86400.'],
    [{ leaseSeconds: 86_401 }, 'leaseSeconds must be from 1 to 86400.'],
  ])('of an action with %o cannot come: the action is refused', async (more, error) => {
    const { id: hostId } = await house.host();
    const body = { serviceId: await house.service(hostId), kind: 'stop', ...more };
    expect(await house.call('POST', `/api/hosts/${hostId}/actions`, { body })).toMatchObject({
      status: 400,
      body: { error, code: 'MUSTER_BAD_BODY' },
    });
  });

  it('of a failure is retried, three attempts in all, and then the action is a dead letter', async () => {
    const { hostId, token, actionId } = await running();
    let startedAt = '';
    for (const attempt of [1, 2, 3]) {
      const answer = await house.report(token, { actionId, attempt, status: 'failed', exitCode: 1 });
      expect(answer.body).toEqual({ accepted: true, status: attempt < 3 ? 'queued' : 'failed' });
      if (attempt === 3) break;
      expect((await house.action(hostId, actionId)).waitingFor.code).toBe('RETRY');
      expect(await house.action(hostId, actionId)).not.toHaveProperty('startedAt'); // it waits for its next try
      await pass(10);
      const [locked] = (await house.poll(token)).body.actions;
      expect(locked).toMatchObject({ id: actionId, attempt: attempt + 1 });
      startedAt = locked.startedAt;
    }
    await pass(10);
    const listed = await house.call('GET', `/api/hosts/${hostId}/actions?status=failed`);
    expect(listed.body.actions).toMatchObject([{ id: actionId, startedAt }]);
    expect(await house.action(hostId, actionId)).toMatchObject({
      status: 'failed',
      startedAt,
      reason: 'FAILED',
      exitCode: 1,
      message: 'Exit code 1.',
    });
  });

  it('without an attempt means the only attempt there was', async () => {
    const { token, actionId } = await running();
    expect((await house.report(token, { actionId, status: 'failed' })).body.status).toBe('queued');
    // again, and still it was handed out only once
    expect((await house.report(token, { actionId, status: 'failed' })).body).toEqual({
      accepted: true,
      status: 'queued',
    });
    await pass(10);
    await house.poll(token);
    const unclear = await house.report(token, { actionId, status: 'succeeded' });
    expect([unclear.status, unclear.body.code]).toEqual([409, 'MUSTER_ATTEMPT_MISSING']);
    expect((await house.report(token, { actionId, attempt: 2, status: 'succeeded' })).body.accepted).toBe(
      true,
    );
  });

  it('without an attempt is refused if the action was never handed out', async () => {
    const { id, token } = await house.host();
    const actionId = await house.queue(id, await house.service(id));
    expect((await house.report(token, { actionId, status: 'succeeded' })).status).toBe(409);
  });

  it('of an older attempt is late, recorded, and changes nothing', async () => {
    const { hostId, token, actionId } = await running();
    await house.report(token, { actionId, attempt: 1, status: 'failed' });
    await pass(10);
    await house.poll(token);
    const late = await house.report(token, {
      actionId,
      attempt: 1,
      status: 'succeeded',
      next: { max: 10, wait: 0 },
    });
    expect(late.body).toEqual({ accepted: false, status: 'running', reason: 'LATE', actions: [] });
    const { events, status } = await house.action(hostId, actionId);
    expect(status).toBe('running');
    expect(events.at(-1)).toMatchObject({ type: 'LATE', attempt: 1, reason: 'SUCCEEDED' });
  });

  it('that does not count never returns the same action', async () => {
    const { token, actionId } = await running();
    await house.report(token, { actionId, attempt: 1, status: 'failed' });
    await pass(10);
    const late = await house.report(token, { actionId, attempt: 7, status: 'failed', next: { max: 10 } });
    expect(late.body).toMatchObject({ accepted: false, reason: 'LATE', actions: [] });
    expect((await house.poll(token)).body.actions[0].attempt).toBe(2);
  });

  it('returns the next actions', async () => {
    const { hostId, token, service, actionId } = await running();
    const same = await house.queue(hostId, service);
    const other = await house.queue(hostId, await house.service(hostId));
    const answer = await house.report(token, {
      actionId,
      attempt: 1,
      status: 'succeeded',
      next: { max: 10, wait: 0 },
    });
    expect(answer.body).toMatchObject({ accepted: true, status: 'succeeded' });
    expect(answer.body.actions.map((action: { id: string }) => action.id)).toEqual([same, other]);
    expect(answer.headers.get('muster-next-poll')).toBe('after=0, wait=25');
    const held = await house.call('GET', '/api/control/running', { token });
    expect(held.body.actions).toEqual(answer.body.actions);
  });

  it('may wait for the next action', async () => {
    const { hostId, token, service, actionId } = await running();
    const waiting = house.report(token, {
      actionId,
      attempt: 1,
      status: 'succeeded',
      next: { max: 1, wait: 25 },
    });
    while (house.engine.parkedWaiters === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const next = await house.queue(hostId, service);
    expect((await waiting).body.actions[0].id).toBe(next);
  });

  it.each([
    [{ max: 11 }, 'Max parameter must be between 1 and 10'],
    [{ wait: 26 }, 'Wait parameter must be between 0 and 25 seconds'],
  ])('with an invalid next is refused and ends nothing', async (next, sentence) => {
    const { hostId, token, actionId } = await running();
    const answer = await house.report(token, { actionId, attempt: 1, status: 'succeeded', next });
    expect([answer.status, answer.body.error]).toEqual([400, sentence]);
    expect((await house.action(hostId, actionId)).status).toBe('running');
  });

  it('for an action of another host, or an unknown one, finds nothing', async () => {
    const { hostId, actionId } = await running();
    const other = await house.host();
    for (const id of [actionId, '99999999', 'x', '0'])
      for (const attempt of [1, undefined]) {
        const answer = await house.report(other.token, { actionId: id, attempt, status: 'succeeded' });
        expect(answer.status).toBe(404);
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(answer.headers.get('vary')).toBe('Authorization');
      }
    expect((await house.action(hostId, actionId)).status).toBe('running');
  });

  it('for an action of another door finds nothing', async () => {
    const { token } = await house.host();
    const generic = await house.call('POST', '/api/lanes/a/actions', { body: { kind: 'x' } });
    const answer = await house.report(token, { actionId: generic.body.id, attempt: 1, status: 'succeeded' });
    expect(answer.status).toBe(404);
  });

  it('keeps the end of a long output', async () => {
    const { hostId, token, actionId } = await running();
    const output = `${'€'.repeat(50_000)}the end`;
    await house.report(token, { actionId, attempt: 1, status: 'succeeded', output });
    const action = await house.action(hostId, actionId);
    expect(action.outputCut).toBe(true);
    expect(action.output.endsWith('the end')).toBe(true);
    expect(Buffer.byteLength(action.output)).toBeLessThanOrEqual(65_536);
    expect(action.output).not.toContain('\ufffd');
  });
});

describe('a host that dies', () => {
  it('loses its leases after five minutes; the action is retried and after three attempts is a dead letter', async () => {
    const { hostId, token, actionId } = await running();
    await pass(299);
    expect((await house.action(hostId, actionId)).status).toBe('running');
    for (const attempt of [2, 3]) {
      await pass(301);
      await pass(10);
      expect((await house.poll(token)).body.actions[0]).toMatchObject({ id: actionId, attempt });
    }
    await pass(301);
    expect(await house.action(hostId, actionId)).toMatchObject({
      status: 'failed',
      reason: 'TIMEOUT',
      attempt: 3,
    });
    // a late success still counts if the action was not handed out meanwhile
    expect((await house.report(token, { actionId, attempt: 3, status: 'succeeded' })).body).toEqual({
      accepted: true,
      status: 'succeeded',
    });
  });

  it('finds its actions at the next start', async () => {
    const { token, actionId } = await running();
    const held = await house.call('GET', '/api/control/running', { token });
    expect(held.body.actions.map((action: { id: string }) => action.id)).toEqual([actionId]);
  });
});

describe('a heartbeat', () => {
  const beat = (token: string, ...actions: { id: string; attempt: number }[]) =>
    house.call('POST', '/api/control/heartbeat', { token, body: { actions } });

  it('keeps a running action, up to an hour after its hand-out', async () => {
    const { hostId, token, actionId } = await running();
    const began = now.getTime();
    for (let minute = 4; minute < 60; minute += 4) {
      await pass(240);
      const [answer] = (await beat(token, { id: actionId, attempt: 1 })).body.actions;
      const most = Math.min(now.getTime() + 300_000, began + 3_600_000);
      expect(answer).toEqual({
        id: actionId,
        attempt: 1,
        status: 'running',
        extended: true,
        leaseUntil: new Date(most).toISOString(),
      });
    }
    await pass(300);
    expect((await house.action(hostId, actionId)).status).toBe('queued');
  });

  it('says which actions were cancelled, before and after their end', async () => {
    const { hostId, token, service, actionId } = await running();
    const cancelled = await house.call('POST', `/api/hosts/${hostId}/actions/${actionId}/cancel`, {
      body: {},
    });
    expect(cancelled.body).toMatchObject({ status: 'running', cancelRequested: true });
    const [told] = (await beat(token, { id: actionId, attempt: 1 })).body.actions;
    expect(told).toMatchObject({ extended: true, cancelRequested: true, status: 'running' });
    expect((await house.report(token, { actionId, attempt: 1, status: 'failed' })).body.status).toBe(
      'cancelled',
    );
    const next = await house.queue(hostId, service);
    await house.poll(token);
    await house.call('DELETE', `/api/hosts/${hostId}/services/${service}`);
    const ended = (await beat(token, { id: actionId, attempt: 1 }, { id: next, attempt: 1 })).body.actions;
    expect(ended).toEqual([
      { id: actionId, attempt: 1, status: 'cancelled', extended: false },
      { id: next, attempt: 1, status: 'cancelled', extended: false },
    ]);
  });

  it('ignores ended attempts, other hosts and unknown actions', async () => {
    const { token, actionId } = await running();
    const other = await house.host();
    expect(
      (await beat(other.token, { id: actionId, attempt: 1 }, { id: 'x', attempt: 1 })).body.actions,
    ).toEqual([
      { id: actionId, attempt: 1, status: 'unknown', extended: false },
      { id: 'x', attempt: 1, status: 'unknown', extended: false },
    ]);
    expect((await beat(token, { id: actionId, attempt: 2 })).body.actions[0]).toMatchObject({
      extended: false,
      status: 'running',
    });
    expect((await beat(token)).body).toEqual({ actions: [] });
  });
});

describe('two agents with one token', () => {
  const as = (token: string, instance?: string) => ({
    token,
    headers: instance === undefined ? {} : { 'muster-instance': instance, 'user-agent': `${instance}/1.2` },
  });
  const HELD = 'muster-held-elsewhere';

  it('G30: the other never gets what one of them holds, and is told since when and until when', async () => {
    const { id: hostId, token } = await house.host();
    const actionId = await house.queue(hostId, await house.service(hostId));
    const at = now.toISOString();
    const until = new Date(now.getTime() + 300_000).toISOString();
    const running = (instance?: string) =>
      house.call('GET', '/api/control/running', as(token, instance)).then(({ body }) => body);
    const poll = (instance?: string) => house.call('GET', '/api/control/queue', as(token, instance));
    expect((await poll('original')).body.actions).toMatchObject([{ id: actionId, attempt: 1 }]);
    expect((await poll('original')).headers.get(HELD)).toBe(null);
    const held = [{ id: actionId, attempt: 1, instance: 'original', since: at, until }];
    for (const other of ['the-clone', undefined]) {
      expect(await running(other)).toEqual({ actions: [], heldElsewhere: held });
      const answer = await poll(other);
      expect(answer.status).toBe(204);
      expect(answer.headers.get(HELD)).toBe(
        `id=${actionId}, attempt=1, instance=original, since=${at}, until=${until}`,
      );
    }
    // however often it asks, and even if the host is renamed or gets another token
    await house.call('PATCH', `/api/hosts/${hostId}`, { body: { name: 'renamed' } });
    const rotated = (await house.call('POST', `/api/hosts/${hostId}/token`)).body.agentToken;
    const again = await house.call('GET', '/api/control/running', as(rotated, 'original'));
    expect(again.body).toMatchObject({ actions: [{ id: actionId, attempt: 1 }] });
    expect(again.body).not.toHaveProperty('heldElsewhere');
    await pass(300);
    await pass(10);
    const clone = await house.call('GET', '/api/control/queue', as(rotated, 'the-clone'));
    expect(clone.body.actions).toMatchObject([{ id: actionId, attempt: 2 }]);
    const late = { actionId, attempt: 1, status: 'failed' };
    const report = await house.call('POST', '/api/control/report', {
      ...as(rotated, 'original'),
      body: late,
    });
    expect(report.body).toMatchObject({ accepted: false, reason: 'LATE' });
  });

  it('are shown with their name and last contact, the newest ten', async () => {
    const { id: hostId, token } = await house.host();
    const speak = (instance: string) => house.call('GET', '/api/control/queue', as(token, instance));
    const shown = async () => (await house.call('GET', `/api/hosts/${hostId}`)).body.instances;
    const write = () => house.server.contacts.write();
    await speak('the-first');
    await write();
    expect(await shown()).toEqual([
      { id: 'the-first', version: 'the-first/1.2', lastSeenAt: now.toISOString() },
    ]);
    // at once at the node of the contact; written together with others, not with each request
    await pass(1);
    const before = house.statements.length;
    await speak('the-first');
    await write();
    expect(house.statements.slice(before).filter((text) => /instances|contacts/.test(text))).toEqual([]);
    expect(await shown()).toMatchObject([{ lastSeenAt: now.toISOString() }]);
    for (let n = 0; n < 11; n += 1) {
      await pass(1);
      await speak(`another-${n}`);
      await write();
    }
    expect((await shown()).map(({ id }: { id: string }) => id)).toEqual(
      Array.from({ length: 10 }, (_, n) => `another-${10 - n}`),
    );
    const stored = async () => {
      const { rows } = await house.engine.db.query({
        text: `select 1 from ${house.engine.schema}.instances where channel = 'control' and target_id = $1`,
        values: [hostId],
      });
      return rows.length;
    };
    expect(await stored()).toBe(10);
    await house.call('DELETE', `/api/hosts/${hostId}`);
    expect(await stored()).toBe(0);
  });

  it.each(['short', 'x'.repeat(65), 'with a space', 'one,two,three'])(
    'are refused with the instance "%s"',
    async (instance) => {
      const { token } = await house.host();
      expect(await house.call('GET', '/api/control/running', as(token, instance))).toMatchObject({
        status: 400,
        body: {
          code: 'MUSTER_BAD_HEADER',
          error: expect.stringMatching(/^Muster-Instance must have from 8/),
        },
      });
    },
  );
});

describe('a cancel', () => {
  const parked = (most: number) => expect.poll(() => house.engine.parkedWaiters).toBe(most);
  const cancel = (hostId: string, id: string) =>
    house.call('POST', `/api/hosts/${hostId}/actions/${id}/cancel`, { body: {} });
  const beat = (token: string, actions: object[], wait = 25) =>
    house
      .call('POST', '/api/control/heartbeat', { token, body: { actions, wait } })
      .then(({ body }) => body.actions);

  it('G33 G38: reaches at once an agent that polls and one that waits with its heartbeat', async () => {
    const { hostId, token, service, actionId } = await running();
    const named = { id: actionId, attempt: 1 };
    const poll = house.poll(token, '?wait=25');
    const waiting = beat(token, [named]);
    await parked(2);
    // a service that is busy has nothing for them, and both keep waiting
    await house.queue(hostId, service);
    await parked(2);
    const before = (await house.action(hostId, actionId)).leaseUntil;
    now = new Date(now.getTime() + 10_000);
    await cancel(hostId, actionId);
    const answer = await poll;
    expect([answer.status, answer.headers.get('muster-cancelled')]).toEqual([204, `${actionId}:1`]);
    const leaseUntil = new Date(Date.parse(before) + 10_000).toISOString(); // kept at the end of the wait
    expect(await waiting).toEqual([
      { ...named, status: 'running', extended: true, leaseUntil, cancelRequested: true },
    ]);
    // an agent that knows is not told again, and an action that it did not name is reported
    const again = beat(token, [{ ...named, stopping: true }]);
    await parked(1);
    const late = await house.queue(hostId, await house.service(hostId));
    expect((await house.poll(token)).body.actions).toMatchObject([{ id: late }]);
    await parked(1);
    await cancel(hostId, late);
    expect(await again).toMatchObject([
      { ...named, extended: true },
      { id: late, attempt: 1, status: 'running', extended: false, cancelRequested: true },
    ]);
    // deleting a service cancels what runs on it
    const other = await running();
    const gone = beat(other.token, [{ id: other.actionId, attempt: 1 }]);
    await parked(1);
    await house.call('DELETE', `/api/hosts/${other.hostId}/services/${other.service}`);
    expect(await gone).toMatchObject([{ id: other.actionId, status: 'cancelled', extended: false }]);
    await parked(0);
  });

  it('costs no statement for agents of other hosts', async () => {
    const [one, other] = [await running(), await running()];
    const waiting = beat(one.token, [{ id: one.actionId, attempt: 1 }]);
    const poll = house.poll(one.token, '?wait=25');
    await parked(2);
    const before = house.statements.length;
    await cancel(other.hostId, other.actionId);
    expect(house.statements.slice(before).filter((name) => /held_by_runner|claim/.test(name))).toEqual([]);
    await cancel(one.hostId, one.actionId);
    await Promise.all([waiting, poll]);
  });
});
