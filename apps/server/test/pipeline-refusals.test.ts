import { afterAll, beforeAll, expect, test } from 'vitest';
import { failed } from '../testing/echo-fleet.ts';
import { type PipelineStage, pipelineStage } from '../testing/pipeline-stage.ts';

let p: PipelineStage;
beforeAll(async () => {
  p = await pipelineStage();
});
afterAll(() => p.t.close());

const [UPLOAD, LOCK] = [1, 5];
const post = async (query: string) => (await p.t.post('/graphql', { query })).body;

test('#12: a repeated refusal has the same words', async () => {
  const id = await p.device();
  const query = `mutation { assignAction(deviceId: ${id}, actionId: 5, idempotencyKey: "same") { executionId } }`;
  const first = await post(query);
  expect(first.errors[0].message).toContain('The policy of the device is uploaded');
  expect(await post(query)).toEqual(first);
});

test('#12: Upload is an invalid transition, for a busy device too', async () => {
  const { id, udid } = await p.active();
  p.echo.answer = () => null;
  await p.assign(id, LOCK);
  expect(await p.refusal(id, LOCK)).toBe('DEVICE_BUSY');
  expect(await p.refusal(id, UPLOAD)).toBe('INVALID_TRANSITION');
  await expect.poll(() => p.commandsOf(udid).length).toBe(1);
});

test('#12: a device that refuses for now is not reported as timed out', async () => {
  const { id, udid } = await p.active();
  p.echo.answer = () => null;
  const { executionId } = await p.assign(id, LOCK);
  await expect.poll(() => p.commandsOf(udid).length).toBe(1);
  const [command] = p.commandsOf(udid);
  if (!command) throw new Error('no command');
  await p.echo.say(failed(command, { reason: 'device_timeout', not_now: true }));
  await p.settled(executionId, 'ACTION_FAILED');
  expect(await p.execution(executionId)).toMatchObject({
    ...{ failedReason: 'not_now', action: { state: 'pending' } },
  });
});

test('#12: impossible arguments are refused', async () => {
  const { id } = await p.active();
  const { createMessageTemplate: template } = await p.ask(
    'mutation { createMessageTemplate(name: "x", content: "y") { id } }',
  );
  expect(await p.refusal(id, LOCK, { messageTemplateId: template.id })).toBe('MUSTER_BAD_REQUEST');
  const bulk = (ids: string) =>
    p.codesOf(`mutation { assignBulkAction(deviceIds: [${ids}], actionId: 5) { batchId } }`);
  expect(await bulk('')).toEqual(['MUSTER_BAD_REQUEST']);
  const { assignBulkAction } = await p.ask(
    `mutation { assignBulkAction(deviceIds: ["${'x'.repeat(5_000)}"], actionId: 5) { failed { deviceId } } }`,
  );
  expect(assignBulkAction.failed).toEqual([{ deviceId: 'x'.repeat(200) }]);
  const stream = await p.t.post(
    '/graphql',
    { query: 'subscription { deviceStateChanged(deviceId: 4711) { policy } }' },
    { headers: { accept: 'text/event-stream' } },
  );
  expect(stream.body).toContain('DEVICE_NOT_FOUND');
});

test('#12: every refusal at /graphql has the errors of GraphQL', async () => {
  for (const body of ['[{"query": "{ __typename }"}]', '{"query": 5}', '{']) {
    const answer = await p.t.post('/graphql', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([
      { message: answer.body.error, extensions: { code: answer.body.code } },
    ]);
  }
});
