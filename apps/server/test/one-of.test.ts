import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Bodies in which exactly one of several fields must be given: the refusal is about the given field. */
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const batch = (targets: unknown) => ['/api/batches', { targets, action: { kind: 'X' } }] as const;
const task = (targets: unknown) => ['/api/tasks', { name: 'x', kind: 'X', targets }] as const;
const workflow = (schedule: unknown) =>
  ['/api/workflows', { name: 'x', schedule, targets: { all: true }, action: { kind: 'X' } }] as const;

const ofBatch = 'targets must have exactly one of deviceIds, tags, all.';
const ofTask = 'targets must have exactly one of deviceIds, pcIds, tags, all.';
const ofSchedule = 'schedule must have exactly one of cron, at, beforeExpiryDays.';

test.each([
  [...batch({ tags: [] }), 'targets.tags must have from 1 to 100 entries.'],
  [...batch({ tags: [''] }), 'targets.tags.0 must have from 1 to 200 characters.'],
  [...batch({ tags: 'a' }), 'targets.tags must be a list.'],
  [...batch({ deviceIds: [] }), 'targets.deviceIds must have from 1 to 1000000 entries.'],
  [...batch({ all: false }), 'targets.all must be true.'],
  [...batch({ all: 'yes' }), 'targets.all must be true.'],
  [...batch({ all: true, colour: 'red' }), 'The body has an unknown field "targets.colour".'],
  [...batch({ tags: ['a'], all: true }), ofBatch],
  [...batch({ pcIds: ['1'] }), ofBatch],
  [...batch({}), ofBatch],
  [...batch([]), 'targets must be an object.'],
  [...batch('all'), 'targets must be an object.'],
  [...task({ pcIds: ['abc'] }), 'targets.pcIds.0 must be an id.'],
  [...task({ deviceIds: ['1'], pcIds: ['1'] }), ofTask],
  [...workflow({ beforeExpiryDays: -1 }), 'schedule.beforeExpiryDays must be from 0 to 36500.'],
  [...workflow({ at: 'soon' }), 'schedule.at must be a time such as 2026-03-01T12:00:00Z.'],
  [...workflow({ timezone: 'UTC' }), 'schedule.cron is missing in the body.'],
  [...workflow({ every: 'day' }), ofSchedule],
  [...workflow({ cron: '0 3 * * *', at: '2030-01-01T00:00:00Z' }), ofSchedule],
])('%s with %j is refused for the error in it', async (path, body, error) => {
  expect(await t.post(path, body)).toMatchObject({ status: 400, body: { error, code: 'MUSTER_BAD_BODY' } });
});

test('a body that is one of several forms is handled alike, and null stays a value where it is one', async () => {
  expect((await t.send('PUT', '/api/pcs/1/devices', {})).body.error).toBe(
    'The body must have exactly one of present, devices.',
  );
  expect((await t.send('PUT', '/api/pcs/1/devices', { present: ['x'] })).body.error).toBe(
    'present.0 must be an id.',
  );
  expect((await t.send('PATCH', '/api/devices/1', { externalId: '' })).body.error).toBe(
    'externalId must have from 1 to 200 characters.',
  );
});
