import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PipelineStage, pipelineStage } from '../testing/pipeline-stage.ts';

let p: PipelineStage;
beforeAll(async () => {
  p = await pipelineStage();
});
afterAll(() => p.t.close());

const LOCK = 5;
const UNLOCK = 6;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('G74: from registration to a locked device and back, through a vendor layer that knows nothing of the pipeline', async () => {
  const id = await p.device();
  expect(await p.policy(id)).toBe('uploaded');
  expect(await p.assign(id, 2)).toMatchObject({ status: 'COMPLETED', enrolmentToken: expect.any(String) });
  expect(await p.policy(id)).toBe('registered');
  await p.echo.enrol(id, 'UDID-first');
  await expect.poll(() => p.policy(id)).toBe('active');

  const lock = await p.assign(id, LOCK, { phoneNumber: '+49 30 1' });
  expect(lock).toMatchObject({ status: 'PENDING' });
  await p.settled(lock.executionId);
  expect(await p.policy(id)).toBe('locked');
  const execution = await p.execution(lock.executionId);
  expect(p.commandsOf('UDID-first')).toEqual([
    {
      command_uuid: execution.commandUuid,
      device_udid: 'UDID-first',
      push_token: null,
      push_magic: null,
      request_type: 'DeviceLock',
      command_payload: { PhoneNumber: '+49 30 1' },
      expires_at: new Date(p.t.clock().getTime() + 58_000).toISOString(),
    },
  ]);
  expect(execution).toMatchObject({
    id: expect.stringMatching(UUID_V7),
    commandUuid: expect.stringMatching(UUID_V7),
    action: { state: 'succeeded', type: { name: 'Lock' }, executions: [{ id: lock.executionId }] },
  });

  const unlock = await p.assign(id, UNLOCK);
  await p.settled(unlock.executionId);
  expect(await p.policy(id)).toBe('active');
  const { milestones } = (await p.t.get(`/api/devices/${id}/milestones`)).body;
  const told: { type: string; policy?: string; source: string | null }[] = milestones.toReversed();
  expect(told.flatMap(({ policy }) => policy ?? [])).toEqual([
    ...['registered', 'enrolled', 'active', 'locked', 'active'],
  ]);
  expect(told.flatMap(({ type, policy }) => (policy ? [] : type))).toEqual([
    ...['enrolled', 'assigned', 'sent', 'done', 'assigned', 'sent', 'done', 'assigned', 'sent', 'done'],
  ]);
});
