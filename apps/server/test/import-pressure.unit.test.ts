import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { writeLines } from '../src/fleet/import/write-lines.ts';

const CHUNKS = 1_000;
const LINES = Array.from({ length: 100 }, (_, n) => ({ line: n + 1, id: 'a device' }));
const BYTES = LINES.reduce((sum, line) => sum + JSON.stringify(line).length + 1, 0);
const KEPT = 10 * BYTES;

function upload() {
  const seen = { chunks: 0, ended: false };
  async function* chunks() {
    try {
      for (; seen.chunks < CHUNKS; seen.chunks += 1) yield LINES;
    } finally {
      seen.ended = true;
    }
  }
  return { seen, chunks: chunks() };
}
const turns = async () => {
  for (let n = 0; n < 2_000; n += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('G64: an import stops while its answer is not read, and continues when it is', async () => {
  const { seen, chunks } = upload();
  const answer = new PassThrough({ highWaterMark: KEPT });
  const done = writeLines(chunks, answer, () => {});
  await turns();
  expect(seen.chunks).toBeLessThan(40);
  expect(answer.writableLength + answer.readableLength).toBeLessThanOrEqual(2 * KEPT + 2 * BYTES);
  let bytes = 0;
  answer.on('data', (data: Buffer) => {
    bytes += data.length;
  });
  expect(await done).toBe(true);
  answer.end();
  await new Promise((resolve) => answer.once('end', resolve));
  expect(bytes).toBe(CHUNKS * BYTES);
});

test('G64: a client that does not read for too long, or leaves, ends the import', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const still = upload();
    const given = writeLines(still.chunks, new PassThrough({ highWaterMark: KEPT }), () => {}, 1_000);
    await turns();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await given).toBe(false);
    expect(still.seen.ended).toBe(true);
    const gone = upload();
    const answer = new PassThrough({ highWaterMark: KEPT });
    const left = writeLines(gone.chunks, answer, () => {}, 1_000);
    await turns();
    answer.destroy();
    expect(await left).toBe(false);
    expect(gone.seen.ended).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
