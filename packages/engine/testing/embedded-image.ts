// Gives the project `pglite` an image of an empty embedded database: made once, it spares every test file the seconds
// that PGlite needs to make a cluster.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { TestProject } from 'vitest/node';
import '../../../testing/provided.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-image-'));
  const db = await PGlite.create('memory://');
  const image = await db.dumpDataDir('none');
  await db.close();
  const file = path.join(folder, 'empty.tar');
  await writeFile(file, new Uint8Array(await image.arrayBuffer()));
  project.provide('embeddedImage', file);
  return () => rm(folder, { recursive: true, force: true });
}
