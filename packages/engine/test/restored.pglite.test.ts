import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { imageName } from '../../../testing/provided.ts';
import {
  createEngine,
  createMigrate,
  type Database,
  ENGINE_LINE,
  type Engine,
  openEmbedded,
  raiseIncarnation,
} from '../src/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'muster-restore-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('G70: a copied data folder keeps its cursors; those ahead of it, and all after muster restored, are refused', {
  timeout: 240_000, // three times a database on disk, on a busy machine
}, async () => {
  const [now, copy] = [path.join(folder, 'now'), path.join(folder, 'copy')];
  const image = inject('embeddedImages')?.[imageName([ENGINE_LINE])];
  const live = async <T>(dataDir: string, run: (db: Database, engine: Engine) => Promise<T>) => {
    const db = await openEmbedded({ dataDir, ...(image && !existsSync(dataDir) ? { image } : {}) });
    const engine = createEngine(db);
    try {
      if (!image) await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
      expect(await engine.start()).toEqual({ restored: false });
      return await run(db, engine);
    } finally {
      await engine.stop();
      await db.close();
    }
  };
  const another = async (db: Database, engine: Engine) => {
    const laneId = await engine.ensureLane(db, 1, 'test', 'lane');
    const { id } = await engine.enqueue(db, { tenantId: 1, laneId, kind: 'test' });
    return { id, cursor: await engine.feed.cursor(db, 'end') };
  };
  const ofCopy = await live(now, another);
  cpSync(now, copy, { recursive: true });
  const ofNow = await live(now, async (db, engine) => {
    await db.query({
      text: 'do $$ begin for i in 1..100 loop perform pg_current_xact_id(); commit; end loop; end $$',
    });
    return another(db, engine);
  });
  await live(copy, async (db, engine) => {
    const refused = { code: 'MUSTER_OTHER_INCARNATION' };
    await expect(engine.feed.read(db, { cursor: ofNow.cursor })).rejects.toMatchObject(refused);
    const { id } = await another(db, engine);
    const page = await engine.feed.read(db, { cursor: ofCopy.cursor });
    expect(page.events.map((event) => event.actionId)).toEqual([id]);
    await raiseIncarnation(db, 'muster');
    for (const { cursor } of [ofCopy, ofNow])
      await expect(engine.feed.read(db, { cursor })).rejects.toMatchObject(refused);
    const all = await engine.feed.read(db);
    expect(all.events.map((event) => event.actionId)).toEqual([ofCopy.id, id]);
  });
});
