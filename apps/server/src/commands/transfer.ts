import { type Queryable, TABLES_OF_ONE_DATABASE } from '@muster/engine';

/**
 * The format of exports. A file is JSON lines: a head, then for each table a line that names it and its rows exactly as
 * PostgreSQL writes them, then the sequences and the counts. Rows are never parsed here, so a number of any length
 * survives. No table references another, so their order does not matter.
 */
export const FORMAT = 1;

export interface Head {
  readonly 'muster:export': number;
  readonly version: string;
  /** The migrations applied to the tables: the target must have the same. */
  readonly migrations: readonly string[];
  /** The day of the oldest event; its partition must exist before the rows are inserted. */
  readonly firstDay: string | null;
}
export interface TableMark {
  readonly 'muster:table': string;
  readonly columns: readonly string[];
}
export interface End {
  readonly 'muster:end': true;
  readonly counts: Readonly<Record<string, number>>;
  readonly sequences: Readonly<Record<string, { value: string; called: boolean }>>;
}

/** Rows never begin like this: their first key is a column. */
export const MARK = '{"muster:';

export interface TransferTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Its key has a transaction id, so without it rows may be equal: one of them is enough. */
  readonly once: boolean;
}

/**
 * Everything that is kept, by name. Left out: leadership and live nodes, which belong to processes; the list of
 * migrations, which the target makes itself; and transaction ids, which mean nothing in another database: there the
 * rows are as old as the import. The target also counts as restored, so old cursors are refused.
 */
export async function transferTables(client: Queryable, schema: string): Promise<TransferTable[]> {
  const { rows } = await client.query({
    text: `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns, exists (
        select 1 from pg_index x join pg_attribute k on k.attrelid = x.indrelid and k.attnum = any(x.indkey)
        where x.indrelid = c.oid and x.indisprimary and k.atttypid = 'xid8'::regtype) as once
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
      where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname <> all($2::text[])
      group by c.oid, c.relname order by c.relname`,
    values: [schema, TABLES_OF_ONE_DATABASE],
  });
  return rows;
}

export async function appliedMigrations(client: Queryable, schema: string): Promise<string[]> {
  const { rows } = await client.query({
    text: `select line || ' ' || version || ' ' || name as migration from ${schema}.migrations order by line, version`,
  });
  return rows.map((row) => row.migration);
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
