import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderInUseError, ownerOf, takeLock } from '../src/data-folder/lock.ts';
import { processStart } from '../src/data-folder/process-start.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-lock-'));
});
afterEach(() => rmSync(folder, { force: true, recursive: true }));

const locks = () => readdirSync(folder);

test('a folder has one owner, and can be locked again after its release', () => {
  const lock = takeLock(folder);
  expect(ownerOf(folder)).toBe(process.pid);
  expect(() => takeLock(folder)).toThrow(FolderInUseError);
  expect(() => takeLock(folder)).toThrow(`is in use by process ${process.pid}`);
  lock.release();
  expect(ownerOf(folder)).toBeNull();
  takeLock(folder).release();
  expect(locks()).toEqual(['lock.2']);
});

test('the lock of a dead process is taken over, even if its pid is used again', () => {
  writeFileSync(path.join(folder, 'lock.7'), JSON.stringify({ pid: 2 ** 22 + 1, start: 'x' }));
  takeLock(folder).release();
  expect(locks()).toEqual(['lock.8']);
  writeFileSync(path.join(folder, 'lock.8'), JSON.stringify({ pid: process.pid, start: 'another boot 123' }));
  takeLock(folder).release();
  expect(locks()).toEqual(['lock.9']);
  writeFileSync(path.join(folder, 'lock.9'), '');
  takeLock(folder).release();
  expect(locks()).toEqual(['lock.10']);
});

test('a living process is recognised by its start time, a dead one is not', async () => {
  expect(processStart(process.pid)).toBe(processStart(process.pid));
  const child = spawn('sleep', ['30']);
  expect(processStart(child.pid as number)).not.toBeNull();
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  expect(processStart(child.pid as number)).toBeNull();
});
