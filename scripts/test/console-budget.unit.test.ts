import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LIMITS, weigh } from '../console-budget.mjs';

const light = path.join(import.meta.dirname, 'fixtures/console-budget/light');

/** A build with one file replaced by noise, which does not compress. */
function heavy(file: string, bytes: number): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-budget-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  cpSync(light, folder, { recursive: true });
  writeFileSync(path.join(folder, file), randomBytes(bytes));
  return folder;
}

test('a light console is within every limit', () => {
  expect(weigh(light).over).toEqual([]);
});

test.each([
  ['assets/frame.js', LIMITS.start, 'scripts at the start'],
  ['assets/overview-page.js', LIMITS.start, 'scripts at the start'],
  ['assets/orders-page.js', LIMITS.page, 'orders-page.tsx'],
  ['assets/index.css', LIMITS.styles, 'styles'],
])('%s above %i bytes is too heavy: %s', (file, limit, name) => {
  expect(weigh(heavy(file, limit + 1)).over).toEqual([name]);
});

test('files that the start has loaded are not counted for a page again', () => {
  expect(weigh(heavy('assets/frame.js', LIMITS.page + 1)).over).toEqual([]);
});

test('a build without an overview cannot be weighed', () => {
  const folder = heavy('.vite/manifest.json', 1);
  writeFileSync(path.join(folder, '.vite/manifest.json'), '{}');
  expect(() => weigh(folder)).toThrow('nothing can be weighed');
});
