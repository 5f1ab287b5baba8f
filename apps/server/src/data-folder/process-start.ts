import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When a process was started, as text that only this process has: a pid alone is reused, in a container by the very
 * next start. Null: no such process, or nothing can be found out about it.
 */
export function processStart(pid: number): string | null {
  return process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
}

function linuxStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything; the fields after the last one are numbers.
    const [, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ');
    const [state] = fields;
    if (state === 'Z' || state === 'X') return null; // dead, but not reaped yet
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${fields[19]}`;
  } catch {
    return null;
  }
}

function psStart(pid: number): string | null {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || null;
}
