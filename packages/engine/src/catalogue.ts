import { createHash } from 'node:crypto';
import type { Queryable } from './db.ts';

/**
 * What is in the schema, one line per thing, sorted: tables with their columns, constraints, indexes, sequences and
 * functions. Compared with a committed text it shows any drift. Left out: the day partitions of the history (they come
 * and go), the table of migrations, and not-null constraints, which only newer servers catalogue.
 */
export async function catalogueText(client: Queryable, schema: string): Promise<string> {
  const { rows } = await client.query({ text: QUERY, values: [schema] });
  const lines = rows.map((row) => {
    const definition = String(row.definition)
      .replaceAll(`${schema}.`, '{schema}.')
      .replaceAll(`'${schema}'`, `'{schema}'`) // the name of the notifications
      .replace(/\s+/g, ' ')
      .trim();
    // function bodies are long: their fingerprint is enough to see a change
    return row.kind === 'function'
      ? `function ${row.name} ${createHash('sha256').update(definition).digest('hex').slice(0, 16)}`
      : `${row.kind} ${row.name} ${definition}`;
  });
  return `${lines
    .map((line) => line.trimEnd())
    .sort()
    .join('\n')}\n`;
}

const QUERY = `
  with tables as (
    select c.oid, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relname <> 'migrations'
  )
  select case t.relkind when 'v' then 'view' else 'table' end as kind, t.relname as name,
    case when t.relkind = 'v' then '' else coalesce(pg_get_partkeydef(t.oid), '') end as definition from tables t
  union all
  select 'column', t.relname || '.' || a.attname,
    format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  union all
  select 'constraint', t.relname || '.' || c.conname, pg_get_constraintdef(c.oid)
  from tables t join pg_constraint c on c.conrelid = t.oid and c.contype <> 'n'
  union all
  select 'index', t.relname || '.' || i.relname, regexp_replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ')
  from tables t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
  union all
  select 'sequence', c.relname, '' from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'S'
  union all
  select 'function', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', p.prosrc || coalesce(array_to_string(p.proconfig, ' '), '')
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1`;
