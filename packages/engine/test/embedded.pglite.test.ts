import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { imageName } from '../../../testing/provided.ts';
import { createEngine, type Database, ENGINE_LINE, openEmbedded } from '../src/index.ts';
import { brokenInvariants } from '../testing/index.ts';

describe('the embedded database', () => {
  let db: Database;
  beforeAll(async () => {
    db = await openEmbedded({ image: inject('embeddedImages')?.[imageName([])] as string });
    await db.query({ text: 'create table things (id int primary key, name text)' });
  });
  afterAll(() => db.close());

  test('named statements are prepared once and accept other values', async () => {
    const named = (n: number) => db.query({ name: 'double', text: 'select $1::int * 2 as n', values: [n] });
    expect((await named(1)).rows).toEqual([{ n: 2 }]);
    expect((await named(21)).rows).toEqual([{ n: 42 }]);
    const { rows } = await db.query({
      text: `select count(*)::int as n from pg_prepared_statements where name = 'double'`,
    });
    expect(rows[0].n).toBe(1);
  });

  test('errors carry their code and leave the connection usable', async () => {
    await expect(db.query({ text: 'select 1 / 0' })).rejects.toMatchObject({ code: '22012' });
    await expect(db.query({ text: 'selct' })).rejects.toMatchObject({ code: '42601' });
    await expect(db.query({ name: 'bad', text: 'select $1::int', values: ['x'] })).rejects.toMatchObject({
      code: '22P02',
    });
    await expect(
      db.transaction(async (tx) => {
        await tx.query({ text: `insert into things values (1, 'a')` });
        await tx.query({ text: `insert into things values (1, 'b')` });
      }),
    ).rejects.toMatchObject({ code: '23505' });
    expect((await db.query({ text: 'select count(*)::int as n from things' })).rows).toEqual([{ n: 0 }]);
  });

  test('large statements and large answers arrive complete', async () => {
    const text = 'ü'.repeat(3_000_000);
    const { rows } = await db.query({ text: 'select $1::text as text', values: [text] });
    expect(rows[0].text).toBe(text);
    const numbers = Array.from({ length: 200_000 }, (_, n) => n);
    const many = await db.query({ text: 'select unnest($1::int[]) as n', values: [numbers] });
    expect(many.rows).toHaveLength(200_000);
  });

  test('concurrent calls each get their own answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => db.query({ text: 'select $1::int as n', values: [n] })),
    );
    expect(answers.map(({ rows }) => rows[0].n)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  test('transactions wait for each other and do not mix', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        db.transaction(async (tx) => {
          await tx.query({ text: 'insert into things values ($1, $2)', values: [100 + n, 'x'] });
          if (n % 2) throw new Error('undo');
        }),
      ).map((one) => one.catch(() => {})),
    );
    expect((await db.query({ text: 'select count(*)::int as n from things where id >= 100' })).rows).toEqual([
      { n: 10 },
    ]);
  });

  test('notifications arrive after the commit, and none after close', async () => {
    const heard: string[] = [];
    const listener = await db.listen('a channel', (payload) => heard.push(payload));
    const notify = (payload: string) =>
      db.query({ text: 'select pg_notify($1, $2)', values: ['a channel', payload] });
    await notify('one');
    await db
      .transaction(async (tx) => {
        await tx.query({ text: `select pg_notify('a channel', 'never')` });
        throw new Error('undo');
      })
      .catch(() => {});
    await notify('two');
    await db.query({ text: 'select 1' });
    expect(heard).toEqual(['one', 'two']);
    await listener.close();
    await notify('three');
    await db.query({ text: 'select 1' });
    expect(heard).toEqual(['one', 'two']);
  });

  test('G53: a 100,000-row insert does not stop the event loop', async () => {
    await db.query({ text: 'create table big (id int primary key, text text)' });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    let turns = 0;
    let running = true;
    const spin = () => {
      turns += 1;
      if (running) setImmediate(spin);
    };
    setImmediate(spin);
    delay.enable();
    await db.query({ text: `insert into big select n, repeat('x', 100) from generate_series(1, 100000) n` });
    delay.disable();
    running = false;
    // In the main thread there would be no turn at all until the end.
    expect(turns).toBeGreaterThan(100);
    console.info(
      `100,000 rows: ${turns} turns of the event loop, longest ${(delay.max / 1e6).toFixed(0)} ms`,
    );
  });

  test('a folder that cannot be opened gives a clear error', async () => {
    await expect(openEmbedded({ dataDir: '/dev/null/nowhere' })).rejects.toThrow('could not be opened');
  });

  test('G53: acknowledged actions survive a kill -9, and the tables are consistent', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-crash-'));
    const dataDir = path.join(folder, 'data');
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('embedded-crash.mjs', import.meta.url)),
        dataDir,
        inject('embeddedImages')?.[imageName([ENGINE_LINE])] as string,
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(line.split(' ')[0] as string);
      if (acknowledged.length === 60) child.kill('SIGKILL');
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(60);
    const again = await openEmbedded({ dataDir });
    const engine = createEngine(again);
    for (const id of acknowledged) expect(await engine.get(again, 1, id)).toMatchObject({ state: 'pending' });
    expect(await brokenInvariants(again)).toEqual([]);
    const { laneId } = (await engine.get(again, 1, acknowledged[0] as string)) as { laneId: string };
    expect(
      await engine.claim(again, { tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 1_000 }),
    ).toMatchObject({ id: acknowledged[0] });
    await engine.stop();
    await again.close();
    await rm(folder, { recursive: true });
  });

  test('G53: a folder keeps everything when it is closed and opened again', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-folder-'));
    const dataDir = path.join(folder, 'data');
    const first = await openEmbedded({ dataDir, image: inject('embeddedImages')?.[imageName([])] as string });
    await first.query({ text: 'create table kept as select 7 as n' });
    await first.close();
    const second = await openEmbedded({ dataDir });
    expect((await second.query({ text: 'select n from kept' })).rows).toEqual([{ n: 7 }]);
    await second.close();
    await rm(folder, { recursive: true });
  });
});
