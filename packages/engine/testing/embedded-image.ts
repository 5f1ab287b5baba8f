// Gives the project `pglite` two images of an embedded database, an empty one and one with the engine's schema: made
// once, they spare every test file the seconds that PGlite needs to make a cluster and to migrate it.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { TestProject } from 'vitest/node';
import '../../../testing/provided.ts';
import { createMigrate, ENGINE_LINE, openEmbedded } from '../src/index.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-image-'));
  const dataDir = path.join(folder, 'data');
  const empty = await imageOf(dataDir, path.join(folder, 'empty.tar'));
  const db = await openEmbedded({ dataDir });
  await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
  await db.close();
  const migrated = await imageOf(dataDir, path.join(folder, 'migrated.tar'));
  project.provide('embeddedImages', { empty, migrated });
  return () => rm(folder, { recursive: true, force: true });
}

async function imageOf(dataDir: string, file: string): Promise<string> {
  const db = await PGlite.create(dataDir);
  const image = await db.dumpDataDir('none');
  await db.close();
  await writeFile(file, new Uint8Array(await image.arrayBuffer()));
  return file;
}
