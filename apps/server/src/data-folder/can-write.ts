import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';

/** Whether this user can write to the folder or create it: the nearest existing folder decides. */
export function canWrite(folder: string): boolean {
  let nearest = path.resolve(folder);
  while (!existsSync(nearest)) nearest = path.dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
