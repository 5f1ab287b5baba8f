import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { startGuard } from '../guard.mjs';

const eventually = { interval: 20, timeout: 30_000 };

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-guard-'));
  writeFileSync(path.join(folder, 'file'), '');
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.each(['SIGKILL', 'SIGINT'] as const)('a process ended by %s leaves nothing behind', async (signal) => {
  const folder = temporaryFolder();
  const abandon = path.join(import.meta.dirname, 'abandon.mjs');
  const child = spawn(process.execPath, [abandon, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const watched = Number(line);
  expect(isAlive(watched)).toBe(true);

  child.kill(signal);

  await vi.waitFor(() => expect(existsSync(folder)).toBe(false), eventually);
  await vi.waitFor(() => expect(isAlive(watched)).toBe(false), eventually);
});

test('a dismissed guard ends nothing that it once watched', async () => {
  const folder = temporaryFolder();
  const watched = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const guard = startGuard(folder);
  guard.watch(watched.pid);
  guard.dismiss();
  await vi.waitFor(() => expect(existsSync(folder)).toBe(false), eventually);
  expect(watched.exitCode ?? watched.signalCode).toBeNull();
  watched.kill('SIGKILL');
  await once(watched, 'exit');
});
