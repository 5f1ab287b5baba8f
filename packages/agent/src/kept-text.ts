import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';

/** A random text, generated once and kept in a file of the state folder. */
const LEAST = 32;

export async function keptRandom(file: string, encoding: 'base64url' | 'hex'): Promise<string> {
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (kept.length >= LEAST) return kept;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const made = randomBytes(encoding === 'hex' ? 16 : 32).toString(encoding);
  await writeSynced(file, made);
  return made;
}

/** All or nothing, whenever the machine goes down, and on the disk before it returns. */
export async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(`${file}.new`, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
  await syncFolder(path.dirname(file));
}

/** A new name is on the disk only when its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
