import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { Journal } from '../src/journal.ts';

// crashed ones too: their files must not wait for the garbage collector
const opened: Journal[] = [];
afterAll(async () => {
  for (const journal of opened) await journal.close();
});
async function openJournal(folder: string): Promise<Journal> {
  const journal = await Journal.open(folder);
  opened.push(journal);
  return journal;
}

const newFolder = () => mkdtempSync(path.join(tmpdir(), 'muster-journal-'));
const fileIn = (folder: string) => path.join(folder, 'journal.ndjson');
const one = { id: '1', attempt: 1 };
const result = { actionId: '1', attempt: 1, status: 'succeeded' as const };

/** The next appended line is cut at its tenth character. */
async function fullDisk(folder: string) {
  const file = await open(fileIn(folder), 'a');
  const handle = Object.getPrototypeOf(file);
  const error = new Error('no space left on the disk');
  vi.spyOn(handle, 'appendFile').mockImplementationOnce(async (text) => {
    appendFileSync(fileIn(folder), String(text).slice(0, 10));
    throw error;
  });
  return {
    stillFull: () => vi.spyOn(handle, 'writeFile').mockRejectedValueOnce(error),
    async free() {
      vi.restoreAllMocks();
      await file.close();
    },
  };
}

it('knows after a crash which attempts were started and which results are not delivered', async () => {
  const folder = newFolder();
  const before = await openJournal(folder);
  await before.started(one);
  await before.started({ id: '2', attempt: 1 });
  await before.result({ ...result, actionId: '2' });
  await before.started({ id: '3', attempt: 2 });
  await before.result({ ...result, actionId: '3', attempt: 2 });
  await before.delivered({ id: '3', attempt: 2 });
  // no close: the process is gone
  const after = await openJournal(folder);
  expect(after.interrupted.map(({ id }) => id)).toEqual(['1']);
  expect(after.undelivered.map(({ actionId }) => actionId)).toEqual(['2']);
  expect(after.knows(one)).toBe(true);
  expect(after.knows({ id: '1', attempt: 2 })).toBe(false);
});

it('has "started" on the disk when it resolves', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  await journal.started(one);
  expect(readFileSync(fileIn(folder), 'utf8')).toContain('"started"');
});

it('ignores a line that a crash cut off', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  await journal.started(one);
  await journal.close();
  appendFileSync(fileIn(folder), '{"t":"result","report":{"actionId":"1","att');
  const after = await openJournal(folder);
  expect(after.interrupted).toHaveLength(1);
  await after.result(result);
  await after.close();
  expect((await openJournal(folder)).undelivered).toEqual([result]);
});

it('forgets delivered results on the disk, and still knows them', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  await journal.started(one);
  await journal.result(result);
  await journal.delivered(one);
  expect(journal.knows(one)).toBe(true);
  expect([journal.interrupted, journal.undelivered]).toEqual([[], []]);
  await journal.close();
  await (await openJournal(folder)).close();
  expect(readFileSync(fileIn(folder), 'utf8')).toBe('');
});

it('rewrites a file that has grown while it is in use', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  const output = 'x'.repeat(60_000);
  for (let n = 1; n <= 100; n += 1) {
    await journal.started({ id: String(n), attempt: 1 });
    await journal.result({ ...result, actionId: String(n), output });
    if (n > 1) await journal.delivered({ id: String(n), attempt: 1 });
  }
  expect(readFileSync(fileIn(folder)).length).toBeLessThan(5_000_000);
  expect((await openJournal(folder)).undelivered.map(({ actionId }) => actionId)).toEqual(['1']);
});

it('flushes simultaneous lines together, in their order', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  await Promise.all(Array.from({ length: 50 }, (_, n) => journal.started({ id: String(n), attempt: 1 })));
  const lines = readFileSync(fileIn(folder), 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
});

it('loses nothing after a half-written line', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  const disk = await fullDisk(folder);
  await expect(journal.started(one)).rejects.toThrow('no space left');
  await journal.mend();
  await journal.started({ id: '2', attempt: 1 });
  await disk.free();
  expect((await openJournal(folder)).interrupted.map(({ id }) => id)).toEqual(['1', '2']);
});

it('is repaired by the next line too, and not before there is room', async () => {
  const folder = newFolder();
  const journal = await openJournal(folder);
  const disk = await fullDisk(folder);
  disk.stillFull();
  await expect(journal.started(one)).rejects.toThrow('no space left');
  await expect(journal.mend()).rejects.toThrow('no space left');
  await journal.started({ id: '2', attempt: 1 });
  await disk.free();
  expect((await openJournal(folder)).interrupted.map(({ id }) => id)).toEqual(['1', '2']);
});
