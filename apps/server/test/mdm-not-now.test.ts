import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true, settings: { MUSTER_MDM_HOLD_SECONDS: '0' } });
});
afterAll(() => s.close());

const queue = async (id: string, requestType: string) => {
  const keys = requestType === 'InstallProfile' ? { Payload: { $data: 'cHJvZmlsZQ==' } } : {};
  const { body } = await s.t.post(`/api/devices/${id}/mdm/commands`, { requestType, keys });
  return body.id as string;
};
const action = async (id: string) => (await s.t.get(`/api/actions/${id}`)).body;

test('#12: a refused command comes once in a session, and after everything else in the next', async () => {
  const { phone, id } = await s.enrolled();
  const refused = await queue(id, 'InstallProfile');
  for (const type of ['ProfileList', 'SecurityInfo']) await queue(id, type);
  phone.busyFor.add('InstallProfile');
  const session = async () => (await phone.connect()).map(({ requestType }) => requestType);
  expect(await session()).toEqual(['InstallProfile', 'ProfileList', 'SecurityInfo']);
  await queue(id, 'ProfileList');
  await queue(id, 'InstallProfile');
  await queue(id, 'SecurityInfo');
  expect(await session()).toEqual([...['ProfileList', 'InstallProfile', 'SecurityInfo', 'InstallProfile']]);
  expect(phone.channel.said.at(-1)).toBe('NotNow');
  expect(await session()).toEqual(['InstallProfile', 'InstallProfile']);
  expect(await action(refused)).toMatchObject({ state: 'pending', failures: 0 });
  phone.busyFor.clear();
  expect(await session()).toEqual(['InstallProfile', 'InstallProfile']);
  expect(await action(refused)).toMatchObject({ state: 'succeeded' });
});

test('#12: however much a phone does after a refusal, the refused command does not become a dead letter', async () => {
  const { phone, id } = await s.enrolled();
  const refused = await queue(id, 'InstallProfile');
  for (let n = 0; n < 34; n += 1) await queue(id, 'ProfileList');
  phone.busyFor.add('InstallProfile');
  expect(await phone.connect()).toHaveLength(35);
  expect(await action(refused)).toMatchObject({ state: 'pending', failures: 0 });
});

test('#12: commands of the server itself that the phone refuses do not block others either', async () => {
  const { phone, id, enrol } = await s.invited();
  await enrol({ AwaitingConfiguration: true });
  await queue(id, 'ProfileList');
  phone.busyFor.add('DeviceConfigured');
  const session = async () => (await phone.connect()).map(({ requestType }) => requestType);
  expect(await session()).toEqual(['DeviceConfigured', 'ProfileList']);
  await queue(id, 'SecurityInfo');
  expect(await session()).toEqual(['SecurityInfo', 'DeviceConfigured']);
});

test('#12: a refused command of the pipeline comes once in a session', async () => {
  const { phone, enrol } = await s.invited();
  await enrol({ AwaitingConfiguration: true });
  const commandUuid = await s.cached(phone);
  phone.busyFor.add('DeviceLock');
  phone.busyFor.add('DeviceConfigured');
  expect(await phone.connect()).toHaveLength(2);
  phone.busyFor.delete('DeviceConfigured');
  const session = (await phone.connect()).map(({ requestType }) => requestType);
  expect(session.sort()).toEqual(['DeviceConfigured', 'DeviceLock']);
  phone.busyFor.clear();
  expect(await phone.connect()).toMatchObject([{ commandUuid }]);
});
