/**
 * The lines of a JSON lines file: they end only with \n. Node's readline also ends them at \r, and since Node 24 at
 * U+2028 and U+2029, which JSON may contain unescaped in its texts. Splitting bytes is safe: in UTF-8 the byte of \n is
 * never part of another character.
 */
const LINE_FEED = 0x0a;

export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      yield joined(begun, chunk.subarray(from, end));
      begun = [];
      from = end + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) yield joined(begun);
}

function joined(begun: readonly Buffer[], last?: Buffer): string {
  const parts = last ? [...begun, last] : begun;
  return (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString('utf8');
}
