import { type FileHandle, open } from 'node:fs/promises';
import { numberImported, type Transaction } from '@muster/engine';
import { migrations } from '../database/migrations.ts';
import { type Command, CommandError } from './command.ts';
import { readLines } from './read-lines.ts';
import {
  appliedMigrations,
  type End,
  FORMAT,
  type Head,
  MARK,
  quoted,
  type TableMark,
  transferTables,
} from './transfer.ts';

const ROWS_AT_ONCE = 500;
const CHARACTERS_AT_ONCE = 4_000_000;

/** `muster import`: imports an export into an empty database, all of it or nothing. */
export const importAll: Command<{ file: string }> = {
  besideServer: false,
  mayBegin: true,
  needsSchema: false,
  async run({ config, db }, { file }, out) {
    const s = config.MUSTER_SCHEMA;
    const handle = await open(file).catch((error) => {
      throw new CommandError(`The file cannot be read: ${error.message}`, { cause: error });
    });
    await migrations(db, s).up();
    const counts = await db
      .transaction((tx) => read(tx, s, handle), { lockMs: 0, statementMs: 0 })
      .finally(() => handle.close());
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    out.say(
      `Imported ${total} rows of ${Object.keys(counts).length} tables, including ${counts.actions ?? 0} actions.`,
    );
    return 0;
  },
};

async function read(tx: Transaction, s: string, file: FileHandle): Promise<Record<string, number>> {
  await refuseIfFilled(tx, s);
  let head: Head | undefined;
  let end: End | undefined;
  let table: TableMark | undefined;
  let rows: string[] = [];
  let characters = 0;
  const counts: Record<string, number> = {};

  async function flush(): Promise<void> {
    if (!table || rows.length === 0) return;
    const name = table['muster:table'];
    await insert(tx, s, table, rows);
    counts[name] = (counts[name] ?? 0) + rows.length;
    rows = [];
    characters = 0;
  }

  for await (const line of readLines(file.createReadStream({ autoClose: false }))) {
    if (!head) {
      head = await readHead(tx, s, line);
    } else if (line.startsWith(MARK)) {
      await flush();
      const mark = JSON.parse(line) as TableMark | End;
      if ('muster:end' in mark) end = mark;
      else table = mark;
    } else {
      rows.push(line);
      characters += line.length;
      if (rows.length >= ROWS_AT_ONCE || characters >= CHARACTERS_AT_ONCE) await flush();
    }
  }
  if (!head || !end)
    throw new CommandError('The file is incomplete: its last line is missing. Export again.');
  await compare(tx, s, counts, end);
  await setSequences(tx, s, end);
  await numberImported(tx, s);
  return counts;
}

async function refuseIfFilled(tx: Transaction, s: string): Promise<void> {
  for (const { name } of await transferTables(tx, s)) {
    const { rows } = await tx.query({ text: `select exists (select 1 from ${s}.${quoted(name)}) as filled` });
    if (rows[0].filled)
      throw new CommandError(
        `The target is not empty: the table ${s}.${name} has rows. Import into a fresh database, before its first start.`,
      );
  }
}

async function readHead(tx: Transaction, s: string, line: string): Promise<Head> {
  const head = line.startsWith(MARK) ? (JSON.parse(line) as Head) : undefined;
  if (head?.['muster:export'] !== FORMAT)
    throw new CommandError('This version cannot read this file as an export.');
  const here = await appliedMigrations(tx, s);
  if (here.join() !== head.migrations.join())
    throw new CommandError(
      `The export was made by version ${head.version}, whose tables differ from those of this version. Use the same version for both.`,
    );
  if (head.firstDay !== null)
    await tx.query({
      text: `select ${s}.ensure_event_days($1::date, current_date + 7)`,
      values: [head.firstDay],
    });
  return head;
}

/** The columns are those of the file; missing ones get their defaults. */
async function insert(tx: Transaction, s: string, mark: TableMark, rows: readonly string[]): Promise<void> {
  const columns = mark.columns.map(quoted).join(', ');
  const target = `${s}.${quoted(mark['muster:table'])}`;
  await tx.query({
    text: `insert into ${target} (${columns}) select ${columns} from json_populate_recordset(null::${target}, $1::json)`,
    values: [`[${rows.join(',')}]`],
  });
}

async function compare(tx: Transaction, s: string, counts: Record<string, number>, end: End): Promise<void> {
  for (const [name, expected] of Object.entries(end.counts)) {
    const { rows } = await tx.query({ text: `select count(*)::float8 as n from ${s}.${quoted(name)}` });
    const { [name]: inFile = 0 } = counts;
    if (rows[0].n !== expected || inFile !== expected)
      throw new CommandError(
        `The export says that the table ${name} has ${expected} rows, but there are ${inFile} in the file and ${rows[0].n} in the database. Nothing was imported.`,
      );
  }
}

async function setSequences(tx: Transaction, s: string, end: End): Promise<void> {
  for (const [name, { value, called }] of Object.entries(end.sequences))
    await tx.query({
      text: 'select setval($1::regclass, $2::bigint, $3)',
      values: [`${s}.${quoted(name)}`, value, called],
    });
}
