import type { OfOneTenant, Query, Queryable } from '../db.ts';
import { withCode } from './copied-errors.ts';
import { inlineFunctions, type SqlFunction } from './inline-functions.ts';
import { inlineViews } from './inline-views.ts';
import { pinTenant } from './pin-tenant.ts';
import { splitSteps } from './split-steps.ts';

/**
 * The statements of a database that is distributed by tenant. There each is of one tenant and names it wherever it reads a
 * table of tenants (`pinTenant`), and calls no SQL function that reads one (`inlineFunctions`). What there is of both is
 * read from the database before the first statement and after each migration. A statement that names no tenant stays as it is: it is of all.
 */
export class Distribution implements OfOneTenant {
  readonly #known = new Map<string, string>();
  #tables: ReadonlySet<string> = new Set();
  #functions: ReadonlyMap<string, SqlFunction> = new Map();
  #views: ReadonlyMap<string, string> = new Map();
  #reading: Promise<void> | undefined;

  /** Sends the statement as the database carries it out; asks through this client what must be known before. */
  async run<Result>(client: Queryable, query: Query, send: (own: Query) => Promise<Result>): Promise<Result> {
    try {
      // a plan that is kept would have to do for every tenant, and there is none
      const { name: _, ...own } = await this.#prepare(client, query);
      return await send({ ...own, isPinned: true });
    } catch (error) {
      throw withCode(error);
    }
  }

  async #prepare(client: Queryable, query: Query): Promise<Query> {
    if (query.isPinned) return query;
    if (this.#tables.size === 0) await this.#readOnce(client);
    // a migration has no values; its `$1` belong to its functions
    if (query.values === undefined && query.tenantId === undefined) return query;
    return this.ofOne(HERE.test(query.text) ? await answeredHere(client, query) : query);
  }

  #readOnce(client: Queryable): Promise<void> {
    this.#reading ??= this.read(client).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async read(client: Queryable): Promise<void> {
    const { rows: tables } = await client.query({ text: TABLES, values: [ON_EVERY_SERVER] });
    const { rows: functions } = await client.query({ text: FUNCTIONS, values: [] });
    this.#views = new Map(tables.filter(({ view }) => view !== null).map(({ name, view }) => [name, view]));
    this.#tables = new Set(tables.map(({ name }) => name));
    this.#functions = new Map(functions.map(({ name, ...more }) => [name, more as SqlFunction]));
    this.#known.clear();
  }

  /** With `tenantId` a statement of all tenants becomes one of this one. */
  ofOne({ tenantId, ...query }: Query): Query {
    const { text, values } = query;
    if (tenantId !== undefined) {
      const given = values ?? [];
      const parameter = `$${given.length + 1}::int`;
      const own = this.pinned(text, parameter);
      // it may read no table of tenants
      return { ...query, text: own, values: own.includes(parameter) ? [...given, tenantId] : given };
    }
    if (values === undefined) return query;
    checkOneTenant(text, values);
    const tenant = tenantOf(text);
    // `$1 is null or tenant_id = $1` asks for all tenants
    const isOfAll = tenant === null || values[Number(/^\$(\d+)$/.exec(tenant)?.[1]) - 1] === null;
    return isOfAll ? query : { ...query, text: this.pinned(text, tenant) };
  }

  /** The text, whose tenant is `tenant`. */
  pinned(text: string, tenant: string): string {
    const key = `${tenant} ${text}`;
    let own = this.#known.get(key);
    if (own === undefined) {
      own = pinTenant(splitSteps(inlineViews(inlineFunctions(text, this.#functions), this.#views)), {
        isOfTenants: (table) => this.#tables.has(table),
        tenant,
      });
      this.#known.set(key, own);
    }
    return own;
  }
}

/** What transactions there are is known on the server that they began on: in a statement the tenant's server would answer. */
const KNOWN_HERE = [
  'pg_snapshot_xmin(pg_current_snapshot())',
  'pg_snapshot_xmax(pg_current_snapshot())',
  'pg_current_xact_id_if_assigned()',
];
const HERE = new RegExp(KNOWN_HERE.map((call) => call.replace(/[()]/g, '\\$&')).join('|'));

async function answeredHere(client: Queryable, query: Query): Promise<Query> {
  const calls = KNOWN_HERE.filter((call) => query.text.includes(call));
  const { rows } = await client.query({
    text: `select ${calls.map((call, n) => `${call}::text as known_${n}`).join(', ')}`,
  });
  const values = [...(query.values ?? [])];
  let { text } = query;
  calls.forEach((call, n) => {
    values.push(rows[0][`known_${n}`]);
    text = text.replaceAll(call, `$${values.length}::xid8`);
  });
  return { ...query, text, values };
}

/** The name of each tenant is unique among all, so this one is on every server. */
export const ON_EVERY_SERVER: readonly string[] = ['tenants'];

const TABLES = `select c.oid::regclass::text as name,
    case c.relkind when 'v' then rtrim(pg_get_viewdef(c.oid, true), ';') end as view
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  where c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relname <> all ($1::text[])
    and c.relnamespace::regnamespace::text !~ '^(pg_|citus|information_schema$)'`;

/** Those that a statement may have in its \`from\`. */
const FUNCTIONS = `select p.pronamespace::regnamespace::text || '.' || p.proname::text as name, p.prosrc as body,
    array(select coalesce(nullif(n.name, ''), '$' || n.at) from unnest(p.proargnames[1:p.pronargs]) with ordinality n(name, at) order by n.at) as parameters,
    array(select p.proargnames[m.at] from unnest(p.proargmodes) with ordinality m(mode, at) where m.mode = 't' order by m.at) as columns
  from pg_proc p join pg_language l on l.oid = p.prolang
  where p.pronamespace::regnamespace::text !~ '^(pg_|citus|information_schema$)' and l.lanname = 'sql' and p.proretset
    and p.prosrc like '%' || p.pronamespace::regnamespace::text || '.%'`;

const LIST =
  /\bunnest\(\(select (\$\d+)::int\[\]\)(?:, \(select [^)]*\))*\)\s+(?:with ordinality )?(?:as )?\w+\((\w+)/;

/** The list of tenants that it is given, all equal and always the first column, or the tenant. */
export function tenantOf(text: string): string | null {
  const list = LIST.exec(text);
  if (list?.[2] === 'tenant_id') return `(${list[1]}::int[])[1]`;
  if (list) throw new Error(`A list of rows must begin with the tenant, not with ${list[2]}.`);
  return (/\btenant_id = (\$\d+)\b/.exec(text) ?? /(\$\d+)::int as tenant_id\b/.exec(text))?.[1] ?? null;
}

/** A list of several tenants would be answered for the first of them alone. */
function checkOneTenant(text: string, values: readonly unknown[]): void {
  const place = Number(LIST.exec(text)?.[1]?.slice(1) ?? 0);
  const tenants = values[place - 1];
  if (Array.isArray(tenants) && tenants.some((tenant) => tenant !== tenants[0]))
    throw new Error('The database is distributed: a statement is of one tenant.');
}
