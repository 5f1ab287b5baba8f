import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Out } from '../src/commands/command.ts';
import { exportAll } from '../src/commands/export.ts';
import { importAll } from '../src/commands/import.ts';
import { readConfig } from '../src/config.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** A row of an export is one line, whatever its texts contain. */
const folder = mkdtempSync(path.join(tmpdir(), 'muster-lines-'));
const file = path.join(folder, 'export.jsonl');
const config = readConfig({});
/** Characters that other programs treat as line ends, and some of several bytes. */
const PAYLOAD = { text: 'one\u2028two\u2029three\u0085four\u000bfive\u000c\r\n é🚀', '\u2028': ['\u2029'] };
let t: TestServer;
beforeAll(async () => {
  t = await testServer();
  expect((await t.post('/api/lanes/lines/actions', { kind: 'x\u2028y', payload: PAYLOAD })).status).toBe(201);
  const written: string[] = [];
  const out: Out = { say: () => {}, note: () => {}, data: async (text) => void written.push(text) };
  await exportAll.run({ config, db: t.engine.db }, {}, out);
  writeFileSync(file, written.join(''));
});
afterAll(async () => {
  await t.close();
  rmSync(folder, { recursive: true });
});

async function imported(from: string): ReturnType<typeof testDatabase> {
  const target = await testDatabase({ migrated: false });
  const out: Out = { say: () => {}, note: () => {}, data: async () => {} };
  return importAll.run({ config, db: target.db }, { file: from }, out).then(
    () => target,
    async (error) => {
      await target.drop();
      throw error;
    },
  );
}

test('texts with any line separator are restored unchanged', async () => {
  const read = { text: 'select kind, payload from muster.actions' };
  const target = await imported(file);
  try {
    const { rows } = await target.db.query(read);
    expect(rows).toEqual((await t.engine.db.query(read)).rows);
    expect(rows).toEqual([{ kind: 'x\u2028y', payload: PAYLOAD }]);
  } finally {
    await target.drop();
  }
});

test('only \\n ends a row: JSON may have \\r between its parts', async () => {
  const spaced = path.join(folder, 'spaced.jsonl');
  writeFileSync(spaced, readFileSync(file, 'utf8').replaceAll(/^(\{"tenant_id":1),/gm, '$1\r,'));
  await (await imported(spaced)).drop();
});

test('differing counts are reported: of the export, of its lines and of the rows in the table', async () => {
  const broken = path.join(folder, 'broken.jsonl');
  writeFileSync(broken, readFileSync(file, 'utf8').replace('one\u2028two', 'one\ntwo'));
  await expect(imported(broken)).rejects.toThrow(
    'The export says that the table actions has 1 rows, but there are 2 in the file and 1 in the database. Nothing was imported.',
  );
});
