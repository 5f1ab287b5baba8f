import { createHash } from 'node:crypto';
import type { Connections } from './db.ts';

/**
 * Everything in the schema and in the schemas that migrations make beside it (`beside`: the suffixes of their names),
 * one sorted line each: tables with columns, constraints, indexes, sequences, views and functions. Comparing it with
 * a committed text shows drift. Left out: the history's day partitions (they come and go), the table of migrations,
 * and not-null constraints, which only newer servers catalogue.
 */
export async function catalogueText(
  db: Connections,
  schema: string,
  beside: readonly string[] = [],
): Promise<string> {
  const schemas = [schema, ...beside.map((end) => schema + end)];
  // The server leaves out the name of a schema on the search path, and that begins with a schema named like the user.
  const { rows } = await db.transaction(async (tx) => {
    await tx.query({ text: 'set local search_path = pg_catalog' });
    return tx.query({ text: QUERY, values: [schemas] });
  });
  const named = (text: string) =>
    schemas.reduce(
      (left, one) => left.replaceAll(`${one}.`, `{schema}${one.slice(schema.length)}.`),
      text.replaceAll(`'${schema}'`, `'{schema}'`), // the name of the notification channel
    );
  const lines = rows.map((row) => {
    const definition = named(String(row.definition)).replace(/\s+/g, ' ').trim();
    const name = row.schema === schema ? row.name : named(`${row.schema}.${row.name}`);
    return `${row.kind} ${name} ${row.kind in WHOLE ? fingerprint(WHOLE[row.kind as keyof typeof WHOLE](definition)) : definition}`;
  });
  return `${lines
    .map((line) => line.trimEnd())
    .sort()
    .join('\n')}\n`;
}

/** Definitions are long; a fingerprint is enough to see a change. */
const fingerprint = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const WHOLE = {
  function: (text: string) => text,
  // As the server prints it. With only one table, servers before 16 prefix each column with its name and newer ones
  // do not, so these prefixes are ignored.
  view: (text: string) => text.replace(/\b\w+\./g, '').replace(/\{schema\w*\}\./g, ''),
};

const QUERY = `
  with schemas as (
    select n.oid, n.nspname from pg_namespace n where n.nspname = any($1)
  ), tables as (
    select c.oid, c.relname, c.relkind, n.nspname from pg_class c join schemas n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relname <> 'migrations'
  )
  select t.nspname as schema, case t.relkind when 'v' then 'view' else 'table' end as kind, t.relname::text as name,
    case when t.relkind = 'v' then pg_get_viewdef(t.oid) else coalesce(pg_get_partkeydef(t.oid), '') end as definition from tables t
  union all
  select t.nspname, 'column', t.relname || '.' || a.attname,
    format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  union all
  select t.nspname, 'constraint', t.relname || '.' || c.conname, pg_get_constraintdef(c.oid)
  from tables t join pg_constraint c on c.conrelid = t.oid and c.contype <> 'n'
  union all
  select t.nspname, 'index', t.relname || '.' || i.relname, regexp_replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ')
  from tables t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
  union all
  select n.nspname, 'sequence', c.relname, '' from pg_class c join schemas n on n.oid = c.relnamespace where c.relkind = 'S'
  union all
  select n.nspname, 'function', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
    concat_ws(' ', pg_get_function_result(p.oid), l.lanname, p.provolatile, p.proisstrict, p.proparallel, p.procost, p.prosecdef, p.prosrc, array_to_string(p.proconfig, ' '))
  from pg_proc p join schemas n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang`;
