// Gives the project `pglite` images of embedded databases to start from: empty, with the engine's tables, and with the
// server's too; the last also as a folder. They are made once and save every test the seconds that PGlite takes to create
// and migrate a cluster.

import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import type { TestProject } from 'vitest/node';
import { LINES } from '../apps/server/src/database/migrations.ts';
import { createMigrate, openEmbedded } from '../packages/engine/src/index.ts';
import { imageName } from './provided.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // code that runs once does not repay the optimising compiler: a cluster takes 3.6 s of CPU without it, 5.7 s with it
  setFlagsFromString('--liftoff-only');
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-image-'));
  const dataDir = path.join(folder, 'data');
  await (await PGlite.create(dataDir)).close();
  await makeLight(dataDir);
  const images: Record<string, string> = { [imageName([])]: await imageOf(dataDir) };
  for (let some = 1; some <= LINES.length; some += 1) {
    const lines = LINES.slice(0, some);
    const db = await openEmbedded({ dataDir });
    await createMigrate(db, { schema: 'muster', lines }).up();
    await db.close();
    images[imageName(lines)] = await imageOf(dataDir);
  }
  project.provide('embeddedImages', images);
  project.provide('embeddedFolder', dataDir);
  return () => rm(folder, { recursive: true, force: true });
}

/** Template databases that no test uses, and most of the memory: six openings took 6.3 to 7.1 s of CPU with them, 4.7 to 6.0 s without. */
async function makeLight(dataDir: string): Promise<void> {
  for (const template of ['1', '4']) {
    const its = path.join(dataDir, 'base', template);
    for (const file of await readdir(its)) if (file !== 'PG_VERSION') await rm(path.join(its, file));
  }
  await appendFile(path.join(dataDir, 'postgresql.conf'), `shared_buffers = '32MB'\n`);
}

async function imageOf(dataDir: string): Promise<string> {
  const db = await PGlite.create(dataDir);
  const image = await db.dumpDataDir('none');
  await db.close();
  const file = `${dataDir}-${performance.now()}.tar`;
  await writeFile(file, new Uint8Array(await image.arrayBuffer()));
  return file;
}
