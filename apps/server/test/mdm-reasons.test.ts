import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

/** Why a phone has not got its action yet. */
let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, faults: true, settings: { MUSTER_MDM_HOLD_SECONDS: '0' } });
});
afterAll(() => s.close());

const queue = async (id: string) =>
  (await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType: 'ProfileList' })).body.id;
const why = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body.waitingFor;

test('a sleeping phone shows when it was last pushed and when the next push is sent', async () => {
  const { phone, id } = await s.enrolled();
  await phone.connect();
  const waits = await queue(id);
  await expect.poll(async () => (await why(waits)).code).toBe('PUSHED');
  const since = s.t.clock().toISOString();
  expect(await why(waits)).toMatchObject({
    ...{ since, attempt: 1, until: expect.any(String) },
    text: `The phone is asleep: it has not connected since the last push at ${since}.`,
  });
  // every action of the phone has the reason, for a page of actions in one read
  const { body } = await s.t.get(`/api/devices/${id}/queue`);
  expect(body.actions).toMatchObject([{ waitingFor: { code: 'PUSHED' } }]);
  await phone.connect();
  expect((await s.t.get(`/api/actions/${waits}`)).body.state).toBe('succeeded');
});

test('a dead token comes before "not now": a phone that cannot be woken up will not take the command again', async () => {
  const { phone, id } = await s.enrolled();
  phone.busyFor.add('ProfileList');
  const refused = await queue(id);
  await phone.connect();
  expect(await why(refused)).toMatchObject({ code: 'NOT_NOW' });
  s.apns.answer('all', { status: 410, reason: 'Unregistered', timestamp: s.t.clock().getTime() + 1 });
  await s.t.post(`/api/devices/${id}/mdm/push`);
  await expect.poll(() => why(refused)).toMatchObject({ code: 'PUSH_TOKEN_DEAD' });
  s.apns.answer('all', null);
});

test('a push that APNs does not accept, a dead token and stopped pushes each have their own reason', async () => {
  const { phone, id } = await s.enrolled();
  await phone.connect();
  s.apns.answer('all', { status: 429, reason: 'TooManyRequests' });
  const waits = await queue(id);
  await expect.poll(() => why(waits)).toMatchObject({ code: 'PUSH_NOT_ACCEPTED', attempt: 1 });
  s.apns.answer('all', { status: 410, reason: 'Unregistered', timestamp: s.t.clock().getTime() + 1 });
  await s.t.post(`/api/devices/${id}/mdm/push`);
  await expect
    .poll(() => why(waits))
    .toMatchObject({
      ...{ code: 'PUSH_TOKEN_DEAD', since: s.t.clock().toISOString() },
      text: expect.stringContaining('APNs says that it is no longer registered.'),
    });
  s.apns.answer('all', null);

  const other = await s.enrolled();
  await other.phone.connect();
  s.apns.answer('all', { status: 403, reason: 'BadCertificate' });
  const stopped = await queue(other.id);
  await expect
    .poll(() => why(stopped))
    .toMatchObject({
      ...{ code: 'PUSHES_STOPPED', text: expect.stringContaining('have stopped: APNs says BadCertificate.') },
    });
  s.apns.answer('all', null);
});
