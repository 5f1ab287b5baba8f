import { expect, test } from 'vitest';
import { readLines } from '../src/commands/read-lines.ts';

const TEXT = 'a\u2028b\u2029c\u0085d\n\né 🚀\rx\r\n"last"';
const LINES = ['a\u2028b\u2029c\u0085d', '', 'é 🚀\rx\r', '"last"'];

async function* chunksOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function linesOf(text: string, size: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(chunksOf(Buffer.from(text), size))) lines.push(line);
  return lines;
}

test('lines end at \\n alone, wherever the chunks end', async () => {
  for (let size = 1; size <= Buffer.byteLength(TEXT) + 1; size += 1) {
    expect(await linesOf(TEXT, size)).toEqual(LINES);
    expect(await linesOf(`${TEXT}\n`, size)).toEqual(LINES);
  }
  expect(await linesOf('', 1)).toEqual([]);
  expect(await linesOf('\n', 1)).toEqual(['']);
});

test('a line of many chunks is one', async () => {
  const long = 'é'.repeat(5_000_000);
  expect(await linesOf(`${long}\nx\n`, 65_537)).toEqual([long, 'x']);
});
