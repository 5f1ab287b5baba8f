import { VERSION } from '../http/version.ts';
import type { Command } from './command.ts';
import { appliedMigrations, type End, FORMAT, type Head, quoted, transferTables } from './transfer.ts';

const ROWS_AT_ONCE = 500;

/** `muster export`: all tables in one consistent snapshot. The requests of an embedded server wait meanwhile. */
export const exportAll: Command<Record<string, never>> = {
  besideServer: true,
  needsSchema: true,
  run: ({ config, db }, _args, out) =>
    db.transaction(
      async (tx) => {
        const s = config.MUSTER_SCHEMA;
        await tx.query({ text: 'set transaction isolation level repeatable read, read only' });
        const { rows: days } = await tx.query({
          text: `select min(at)::date::text as first from ${s}.action_events`,
        });
        const head: Head = {
          'muster:export': FORMAT,
          version: VERSION,
          migrations: await appliedMigrations(tx, s),
          firstDay: days[0].first,
        };
        await out.data(`${JSON.stringify(head)}\n`);

        const counts: Record<string, number> = {};
        for (const { name, columns, once } of await transferTables(tx, s)) {
          await out.data(`${JSON.stringify({ 'muster:table': name, columns })}\n`);
          counts[name] = 0;
          const named = columns.map(quoted);
          // the servers of a distributed database do not know the names of a row's columns
          const row = db.isDistributed
            ? `(select row_to_json(x) from (select ${named.map((column) => `r.${column}`).join(', ')}) x)`
            : 'row_to_json(r)';
          await tx.query({
            text: `declare export_rows no scroll cursor for
            select translate(${row}::text, E'\\n\\r', '  ') as line from (select ${once ? 'distinct ' : ''}${named.join(', ')} from ${s}.${quoted(name)}) r`,
          });
          for (;;) {
            const { rows } = await tx.query({ text: `fetch ${ROWS_AT_ONCE} from export_rows` });
            if (rows.length === 0) break;
            counts[name] += rows.length;
            await out.data(`${rows.map((row) => row.line).join('\n')}\n`);
          }
          await tx.query({ text: 'close export_rows' });
        }

        const end: End = { 'muster:end': true, counts, sequences: await sequences(tx, s) };
        await out.data(`${JSON.stringify(end)}\n`);
        const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
        out.note(
          `Exported ${total} rows of ${Object.keys(counts).length} tables, including ${counts.actions ?? 0} actions.`,
        );
        return 0;
      },
      { lockMs: 0, statementMs: 0 },
    ),
};

async function sequences(
  client: Parameters<typeof transferTables>[0],
  schema: string,
): Promise<End['sequences']> {
  const { rows: names } = await client.query({
    text: 'select sequencename as name from pg_sequences where schemaname = $1 order by 1',
    values: [schema],
  });
  const all: Record<string, { value: string; called: boolean }> = {};
  for (const { name } of names) {
    const { rows } = await client.query({
      text: `select last_value, is_called from ${schema}.${quoted(name)}`,
    });
    all[name] = { value: String(rows[0].last_value), called: rows[0].is_called };
  }
  return all;
}
