import { readdir, readFile } from 'node:fs/promises';
import { pause } from '../backoff.ts';

/**
 * Scripts of attempts that a killed runner has left behind: they run on, and the device must not do two things at once.
 * They are known by their environment, which also the children of the script have. Only Linux tells it; elsewhere
 * nothing is found.
 */
const LOOK_AGAIN_MS = 20;
const never = new AbortController().signal;

export async function endLeftovers(
  folder: string,
  attempts: readonly { id: string; attempt: number }[],
  killAfterMs = 5_000,
): Promise<void> {
  if (attempts.length === 0) return;
  const until = performance.now() + killAfterMs;
  let isTold = false;
  for (
    let left = await leftovers(folder, attempts);
    left.length > 0;
    left = await leftovers(folder, attempts)
  ) {
    const isOver = performance.now() >= until;
    if (!isTold || isOver) for (const pid of left) send(pid, isOver ? 'SIGKILL' : 'SIGTERM');
    isTold = true;
    await pause(LOOK_AGAIN_MS, never);
  }
}

async function leftovers(
  folder: string,
  attempts: readonly { id: string; attempt: number }[],
): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    // another user's, or gone
    const text = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (!text.includes('MUSTER_RUNNER_STATE=')) continue;
    const variables = new Set(text.split('\0'));
    const isOurs = ({ id, attempt }: { id: string; attempt: number }) =>
      variables.has(`MUSTER_TASK_DEVICE_ID=${id}`) && variables.has(`MUSTER_ATTEMPT=${attempt}`);
    if (variables.has(`MUSTER_RUNNER_STATE=${folder}`) && attempts.some(isOurs)) found.push(Number(name));
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
