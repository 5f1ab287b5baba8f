import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

const LAST = '9999-12-31T23:59:59.999Z';

test('G67: plain SQL stores no time that a list could not show', async () => {
  const { body } = await t.post('/api/lanes/printer/actions', { kind: 'x' });
  for (const column of ['not_before', 'deliver_by', 'deadline'])
    await expect(
      t.engine.db.query({
        text: `update muster.actions set ${column} = 'infinity' where action_id = $1`,
        values: [body.id],
      }),
    ).rejects.toMatchObject({ code: '23514' });
});

test('G67: a time that is stored all the same, and that no date can hold, is shown and fails no list', async () => {
  const { body } = await t.post('/api/lanes/plotter/actions', { kind: 'x' });
  await t.engine.db.query({ text: 'alter table muster.actions drop constraint clocks_are_times' });
  for (const table of ['actions', 'pending'])
    await t.engine.db.query({
      text: `update muster.${table} set not_before = 'infinity', deadline = '290000-01-01', deliver_by = '-infinity'
        where action_id = $1`,
      values: [body.id],
    });
  const shown = { notBefore: LAST, deadline: LAST, deliverBy: '0001-01-01T00:00:00.000Z' };
  expect(await t.get(`/api/actions/${body.id}`)).toMatchObject({ status: 200, body: shown });
  expect(await t.get('/api/actions?lane=plotter')).toMatchObject({ status: 200, body: { actions: [shown] } });
});
