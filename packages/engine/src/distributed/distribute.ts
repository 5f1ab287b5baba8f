import type { OfOneTenant, Queryable } from '../db.ts';
import { ON_EVERY_SERVER, tenantOf } from './distribution.ts';

/**
 * Distributes a migrated schema by tenant, as Citus does it: every table with a tenant gets shards by it, all together, so one
 * tenant is on one server; the names of tenants are on each; all else stays on the coordinator. What is distributed
 * already stays as it is, so this runs after every migration.
 */
const FIRST = 'lanes';
/** Their `p_tenant` says what to show, not whose rows they work on. */
const OF_ALL_TENANTS: readonly string[] = ['read_feed', 'drop_event_days'];

/** `functions`: SQL of those that such a database has instead of others. */
export async function distribute(
  client: Queryable,
  schema: string,
  distribution: OfOneTenant,
  functions: string,
): Promise<void> {
  // one connection to each server: functions and tables are changed in one transaction
  await client.query({ text: `set local citus.multi_shard_modify_mode = 'sequential'` });
  await distributeTables(client, schema);
  await client.query({ text: functions });
  await distribution.read(client);
  await pinFunctions(client, schema, distribution);
}

async function distributeTables(client: Queryable, s: string): Promise<void> {
  const { rows } = await client.query({
    text: `select c.relname::text as name, exists (
        select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
      ) as is_of_tenants
      from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and not exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid)
      order by c.relname <> '${FIRST}', c.relname`,
    values: [s],
  });
  for (const { name, is_of_tenants: isOfTenants } of rows)
    if (ON_EVERY_SERVER.includes(name))
      await client.query({ text: `select create_reference_table('${s}.${name}')` });
    else if (isOfTenants)
      await client.query({
        text: `select create_distributed_table('${s}.${name}', 'tenant_id', colocate_with => '${name === FIRST ? 'none' : `${s}.${FIRST}`}')`,
      });
}

/**
 * The functions for plain SQL keep to the same rules as statements, with the tenant of their arguments. Their plans are made
 * with the values at hand: without them there is no plan for a distributed table.
 */
async function pinFunctions(client: Queryable, s: string, distribution: OfOneTenant): Promise<void> {
  const { rows } = await client.query({
    text: `select p.proname::text as name, p.prosrc as body, pg_get_functiondef(p.oid) as definition, l.lanname as language, p.proargnames as arguments
      from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace in ($1::regnamespace, to_regnamespace($1 || '_reports')) and l.lanname = 'plpgsql' and p.prosrc like '%' || $1 || '.%'`,
    values: [s],
  });
  for (const { name, body, definition, arguments: names } of rows) {
    const written = asWritten(body);
    const tenant = tenantIn(name, names ?? [], written);
    const own = tenant === null ? written : distribution.pinned(written, tenant);
    const text = definition
      .replace(body, () => (own === written ? body : `${own}\n${MARK}\n${written.replace(/^/gm, '--| ')}\n`))
      .replace(/^ SET plan_cache_mode TO .*\n/m, '')
      .replace(/^AS \$/m, ' SET plan_cache_mode TO force_custom_plan\nAS $');
    if (text !== definition) await client.query({ text });
  }
}

/** Behind its own text a function keeps the text of its migration: a later migration may change what it calls. */
const MARK = '-- As it was written:';

function asWritten(body: string): string {
  const at = body.indexOf(MARK);
  if (at < 0) return body;
  return body
    .slice(at + MARK.length + 1)
    .replace(/\n$/, '')
    .replace(/^--\| ?/gm, '');
}

function tenantIn(name: string, names: readonly string[], body: string): string | null {
  if (OF_ALL_TENANTS.includes(name)) return null;
  if (names.includes('p_tenant')) return 'p_tenant';
  if (names.includes('p_tenants')) return 'p_tenants[1]';
  return tenantOf(body);
}
