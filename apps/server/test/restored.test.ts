import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createEngine, type FeedEvent } from '@muster/engine';
import { settledUpTo, testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Out } from '../src/commands/command.ts';
import { exportAll } from '../src/commands/export.ts';
import { importAll } from '../src/commands/import.ts';
import { restored } from '../src/commands/restored.ts';
import { readConfig } from '../src/config.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** `muster restored` beside a server, and the effects of an export on transaction numbers and incarnations. */
const folder = mkdtempSync(path.join(tmpdir(), 'muster-restored-'));
const config = readConfig({});
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
  for (const kind of ['a', 'b', 'c']) await t.post('/api/lanes/printer/actions', { kind });
  // one success that hands out the next, which fails: its SENT is then a row, only for the history
  const [action] = (await t.post('/api/lanes/printer/claim', { worker: 'w' })).body.actions;
  const { actions } = (
    await t.post(`/api/actions/${action.id}/report`, {
      attempt: 1,
      status: 'succeeded',
      next: { worker: 'w' },
    })
  ).body;
  await t.post(`/api/actions/${actions[0].id}/report`, { attempt: 1, status: 'failed', error: 'x' });
});
afterAll(async () => {
  await t.close();
  rmSync(folder, { recursive: true });
});

const said: string[] = [];
const out = (data: (text: string) => void): Out => ({
  say: (line) => void said.push(line),
  note: () => {},
  data: async (text) => data(text),
});

const kinds = (events: readonly FeedEvent[]) => events.map(({ eventId, type }) => `${eventId} ${type}`);
const refused = { code: 'MUSTER_OTHER_INCARNATION' };

test('G70: after muster restored, earlier cursors are refused, and the audit log has it', async () => {
  const { db, feed } = t.engine;
  const before = await feed.cursor(db, 'end');
  const start = await feed.cursor(db, 'start');
  expect(
    await restored.run(
      { config, db },
      {},
      out(() => {}),
    ),
  ).toBe(0);
  expect(said).toEqual([expect.stringContaining('are now refused')]);
  for (const cursor of [before, start])
    await expect(feed.read(db, { cursor })).rejects.toMatchObject(refused);
  await expect(feed.read(db, { cursor: await feed.cursor(db, 'start') })).resolves.toMatchObject({
    more: false,
  });
  const { body } = await t.get('/api/audit');
  expect(body.audit[0]).toMatchObject({ act: 'database.restore', target: 'database', actor: 'command line' });
});

test('G70: an import starts another incarnation: all events are there, old cursors are refused, and its list of lanes is clean', async () => {
  const { db, feed } = t.engine;
  const before = await feed.cursor(db, 'end');
  // the same lane twice, in two transactions whose end another may not have seen yet
  for (const number of [1, 2])
    await db.query({
      text: `insert into muster.stale_lanes (tenant_id, lane_id, raised_in) values (1, 1, $1::xid8)`,
      values: [String(number)],
    });
  let exported = '';
  await exportAll.run(
    { config, db },
    {},
    out((text) => {
      exported += text;
    }),
  );
  const file = path.join(folder, 'export.jsonl');
  writeFileSync(file, exported);
  const target = await testDatabase({ migrated: false });
  try {
    expect(
      await importAll.run(
        { config, db: target.db },
        { file },
        out(() => {}),
      ),
    ).toBe(0);
    const there = createEngine(target.db);
    expect(await there.start()).toEqual({ restored: false });
    await expect(there.feed.read(target.db, { cursor: before })).rejects.toMatchObject(refused);
    await settledUpTo(db); // other files of the suite have transactions open on the same server
    const { events } = await t.engine.feed.read(db);
    expect(events.map(({ type }) => type)).toEqual([
      ...['CREATED', 'CREATED', 'CREATED', 'SENT', 'SUCCEEDED', 'SENT', 'FAILED', 'RETRY_SCHEDULED'],
    ]);
    await settledUpTo(target.db);
    expect(kinds((await there.feed.read(target.db)).events)).toEqual(kinds(events));
    await there.stop();
  } finally {
    await target.drop();
  }
});
