import { readdir, readFile } from 'node:fs/promises';
import { pause } from './backoff.ts';

/**
 * Processes of attempts that a killed agent or runner has left behind: they run on, and a service or a device must not
 * do two things at once. They are recognised by their environment, never by a process id, which another process may
 * have by now; children of a script have it too. Only Linux exposes it; elsewhere nothing is found.
 */
const LOOK_AGAIN_MS = 20;
const never = new AbortController().signal;

/** The variables that mark the processes of one attempt. */
type Marks = Readonly<Record<string, string>>;

/** Resolves when they are gone, with how many there were at the first look. */
export async function endLeftovers(attempts: readonly Marks[], killAfterMs = 5_000): Promise<number> {
  if (attempts.length === 0) return 0;
  const until = performance.now() + killAfterMs;
  const first = await leftovers(attempts);
  for (const pid of first) send(pid, 'SIGTERM');
  for (let left = first; left.length > 0; left = await leftovers(attempts)) {
    if (performance.now() >= until) for (const pid of left) send(pid, 'SIGKILL');
    await pause(LOOK_AGAIN_MS, never);
  }
  return first.length;
}

async function leftovers(attempts: readonly Marks[]): Promise<number[]> {
  const wanted = attempts.map((marks) => Object.entries(marks).map(([name, value]) => `${name}=${value}`));
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    // another user's, or gone
    const text = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (!text.includes('MUSTER_')) continue;
    const variables = new Set(text.split('\0'));
    if (wanted.some((marks) => marks.every((mark) => variables.has(mark)))) found.push(Number(name));
  }
  return found;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended meanwhile
  }
}
