import { BrokenUpload } from './broken-upload.ts';
import { CsvRows } from './csv-rows.ts';

/**
 * Reads an upload record by record while it arrives: CSV with a header, or a JSON object per line. Holds one record in
 * memory at a time, whatever the size of the upload.
 */
export interface RawRecord {
  readonly line: number;
  /** Fields by name, or the error of the line. */
  readonly fields?: Record<string, unknown>;
  readonly error?: string;
}

const LONGEST_LINE = 65_536;

export async function* csvRecords(chunks: AsyncIterable<string>): AsyncGenerator<RawRecord> {
  const rows = new CsvRows(LONGEST_LINE);
  let header: string[] | undefined;
  async function* all() {
    for await (const chunk of chunks) yield* rows.read(chunk);
    yield* rows.end();
  }
  for await (const { line, fields } of all()) {
    if (fields.length === 1 && fields[0] === '') continue;
    if (!header) {
      header = readHeader(line, fields);
      continue;
    }
    if (fields.length !== header.length) {
      yield { line, error: `The row has ${fields.length} fields, but the header has ${header.length}.` };
      continue;
    }
    const named = header
      .map((name, n) => [name, fields[n] as string] as const)
      .filter(([, value]) => value !== '');
    yield { line, fields: Object.fromEntries(named.map(([name, value]) => [name, readField(name, value)])) };
  }
  if (!header) throw new BrokenUpload(1, 'The upload is empty: its first line must name the columns.');
}

/** Reads the first row before the answer begins: until then the whole upload can be refused. */
export async function readFirst(records: AsyncGenerator<RawRecord>): Promise<AsyncGenerator<RawRecord>> {
  const first = await records.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* records;
  })();
}

function readHeader(line: number, fields: string[]): string[] {
  const names = fields.map((name) => name.trim());
  if (!names.includes('name')) throw new BrokenUpload(line, 'The header has no column "name".');
  if (new Set(names).size < names.length)
    throw new BrokenUpload(line, 'The header has the same column twice.');
  return names;
}

/** Several tags in one field are separated by semicolons. */
function readField(name: string, value: string): unknown {
  if (name !== 'tags') return value;
  return value
    .split(';')
    .map((tag) => tag.trim())
    .filter(Boolean);
}

export async function* jsonRecords(chunks: AsyncIterable<string>): AsyncGenerator<RawRecord> {
  let rest = '';
  let line = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    for (const text of lines) {
      line += 1;
      yield* jsonRecord(line, text);
    }
    if (rest.length > LONGEST_LINE)
      throw new BrokenUpload(line + 1, `The line is longer than ${LONGEST_LINE} characters.`);
  }
  yield* jsonRecord(line + 1, rest);
}

function* jsonRecord(line: number, text: string): Generator<RawRecord> {
  if (text.trim() === '') return;
  try {
    const fields = JSON.parse(text);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
      yield { line, error: 'The line is not an object.' };
    else yield { line, fields };
  } catch {
    yield { line, error: 'The line is not valid JSON.' };
  }
}

/** Decodes bytes as they arrive; a byte order mark at the beginning is dropped. */
export async function* decoded(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}
