import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { CommandError } from '../commands/command.ts';
import { terminal } from './out.ts';
import { runCommand } from './run-command.ts';

/**
 * `muster export <file>`: the file appears when it is complete, readable by its owner only. Until then it has a unique
 * name: an existing file would keep its mode, and a process that had it open could read along.
 */
export async function exportTo(given: string): Promise<number> {
  const file = path.resolve(given);
  const partial = `${file}.${randomBytes(4).toString('hex')}.partial`;
  await refuseExisting(file);
  let handle: FileHandle | undefined;
  try {
    handle = await open(partial, 'wx', 0o600);
    const writing = handle;
    const code = await runCommand(
      'export',
      {},
      terminal(async (text) => void (await writing.write(text))),
    );
    await handle.sync();
    await handle.close();
    await rename(partial, file);
    console.error(
      `Written to ${file}. It contains everything but the secrets key, which the import needs too (docs/operations.md); keep it safe.`,
    );
    return code;
  } catch (error) {
    await handle?.close().catch(() => {});
    await rm(partial, { force: true });
    throw error;
  }
}

export function importFrom(given: string): Promise<number> {
  return runCommand('import', { file: path.resolve(given) });
}

async function refuseExisting(file: string): Promise<void> {
  try {
    await (await open(file, 'wx')).close();
    await rm(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(
      code === 'EEXIST' ? `${file} already exists.` : `The file cannot be written: ${message}`,
    );
  }
}
