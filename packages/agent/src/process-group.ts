import { readdir, readFile } from 'node:fs/promises';
import { pause } from './backoff.ts';

/**
 * Asks a whole group to end, and kills what is left of it after a while: a child may outlive the program that started
 * it.
 */
const LOOK_AGAIN_MS = 20;
const never = new AbortController().signal;

export async function endGroup(group: number, killAfterMs: number): Promise<void> {
  const until = performance.now() + killAfterMs;
  for (sendTo(group, 'SIGTERM'); await hasLiving(group); await pause(LOOK_AGAIN_MS, never))
    if (performance.now() >= until) {
      sendTo(group, 'SIGKILL');
      return;
    }
}

/** Whether any process is left in the group, including zombies. */
function sendTo(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Zombies stay until process 1 reaps them, which takes seconds in some containers. Only Linux tells. */
async function hasLiving(group: number): Promise<boolean> {
  if (!sendTo(group, 0)) return false;
  const names = await readdir('/proc').catch(() => null);
  if (!names?.includes('self')) return true;
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    // `pid (name) state parent group …`; the name may have any character in it
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch((error: NodeJS.ErrnoException) =>
      ['ENOENT', 'ESRCH'].includes(error.code ?? '') ? '' : null,
    );
    if (text === null) return true; // it cannot be read, so it counts as living
    const [state, , its] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (Number(its) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}
