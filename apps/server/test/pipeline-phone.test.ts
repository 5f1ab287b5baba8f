import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';

let s: MdmStage;
beforeAll(async () => {
  s = await mdmStage({ clock: true });
});
afterAll(() => s.close());

async function ask(query: string) {
  const { data, errors } = (await s.t.post('/graphql', { query })).body;
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
const policy = async (id: string) => (await ask(`{ device(id: ${id}) { policy } }`)).device.policy;
const assign = async (id: string, actionId: number) =>
  (await ask(`mutation { assignAction(deviceId: ${id}, actionId: ${actionId}) { executionId } }`))
    .assignAction.executionId;

test('G74: both layers together: assignAction locks a phone, and its answer is the policy', async () => {
  const { phone, id } = await s.enrolled();
  await expect.poll(() => policy(id)).toBe('active');
  const executionId = await assign(id, 5);
  // as often as it takes until the command is there: a phone is woken by a push, and comes again
  await expect
    .poll(async () => {
      await phone.connect();
      return phone.locked;
    })
    .toBe(true);
  await expect.poll(() => policy(id)).toBe('locked');
  expect((await ask(`{ execution(id: "${executionId}") { status } }`)).execution.status).toBe(
    'ACTION_COMPLETED',
  );
  const { devices } = await ask(
    `{ devices(search: "${phone.udid}") { nodes { id serial model osVersion } } }`,
  );
  expect(devices.nodes).toEqual([{ id, serial: expect.any(String), model: 'iPhone14,5', osVersion: '18.1' }]);
});
