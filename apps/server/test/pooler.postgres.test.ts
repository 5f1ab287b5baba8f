import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startPgbouncer } from '../../../testing/pgbouncer.mjs';
import { sentenceOf } from '../src/cli/sentence.ts';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { startServer } from '../src/main.ts';

/** Two nodes whose connections share two sessions of the server, through PgBouncer in transaction mode. */
const OPERATOR = 'operator-token-of-this-test-0123456789';
const folder = mkdtempSync(path.join(tmpdir(), 'muster-pooled-'));
let database: Awaited<ReturnType<typeof testDatabase>>;
let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
beforeAll(async () => {
  database = await testDatabase({ lines: LINES });
  pooler = await startPgbouncer(inject('postgresUrl') as string, { sessions: 2 });
});
afterAll(async () => {
  await pooler.stop();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const start = (more: Record<string, string>) =>
  startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: pooler.urlOf(database.url as string),
      MUSTER_OPERATOR_TOKEN: OPERATOR,
      MUSTER_DATA_DIR: folder,
      MUSTER_LOG_LEVEL: 'silent',
      ...more,
    }),
  );

test('without MUSTER_LISTEN_URL the start says what is missing', async () => {
  const error = await start({}).catch((refused: unknown) => refused);
  expect(sentenceOf(error)).toContain('Set MUSTER_LISTEN_URL to the server itself.');
});

test('G39: a claim that waits at one node gets what is queued at the other, and its report is accepted', async () => {
  const more = { MUSTER_LISTEN_URL: database.url as string };
  const here = await start(more);
  const there = await start(more);
  try {
    const ask = async (node: typeof here, way: string, body: object) => {
      const answer = await fetch(node.url + way, {
        method: 'POST',
        headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
      return (await answer.json()) as any;
    };
    const waiting = ask(there, '/api/lanes/x/claim', { worker: 'w', wait: 25 });
    while (there.engine.parkedWaiters < 1) await new Promise((resolve) => setImmediate(resolve));
    const queued = await Promise.all(
      Array.from({ length: 40 }, () => ask(here, '/api/lanes/x/actions', { kind: 'x' })),
    );
    const [got] = (await waiting).actions;
    expect(queued.map(({ id }) => id)).toContain(got.id);
    const report = { attempt: 1, status: 'succeeded' };
    expect(await ask(here, `/api/actions/${got.id}/report`, report)).toMatchObject({ accepted: true });
    expect((await fetch(`${here.url}/readyz`)).status).toBe(200);
  } finally {
    await Promise.all([here.stop(), there.stop()]);
  }
});
