import { createHash } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';

/** The system silently truncates longer paths. */
const LONGEST = 100;

/** Where the server of a data folder listens for the command line. */
export function socketPath(folder: string): string {
  const inside = path.join(folder, 'control.sock');
  if (Buffer.byteLength(inside) <= LONGEST) return inside;
  const short = createHash('sha256').update(path.resolve(folder)).digest('hex').slice(0, 16);
  return path.join(tmpdir(), `muster-${userInfo().uid}-${short}.sock`);
}
