/**
 * The same statement for a database that is distributed by tenant. There a statement is of one tenant (gatherers
 * split), and the database runs it on that tenant's server, provided that every table in it is compared with one
 * tenant parameter. This rewrites comparisons of rows to that form. On a plain server statements stay as written and
 * may be of many tenants.
 */
export function ofOneTenant(text: string): string {
  let own = known.get(text);
  if (own === undefined) {
    own = rewritten(text);
    known.set(text, own);
  }
  return own;
}

/** A list of several tenants would be answered for the first of them alone. */
export function checkOneTenant(text: string, values: readonly unknown[]): void {
  let place = places.get(text);
  if (place === undefined) {
    place = Number(LIST.exec(text)?.[1]?.slice(1) ?? 0);
    places.set(text, place);
  }
  const tenants = values[place - 1];
  if (Array.isArray(tenants) && tenants.some((tenant) => tenant !== tenants[0]))
    throw new Error('The database is distributed: a statement is of one tenant.');
}

/** Placed where a statement of many tenants reads a table of all tenants, after a condition. */
export const ofAllTenants = (row: string) => `/* of all tenants: ${row} */`;

const known = new Map<string, string>();
/** The parameter that is the list of tenants, from 1; 0: none. */
const places = new Map<string, number>();

const TWO_ROWS = /\b(\w+)\.tenant_id = (\w+)\.tenant_id\b/g;
/** See `hasKeyOf`. */
const ROW_OF_LIST = /\b(\w+)\.tenant_id = any\(array\[\w+\.tenant_id\]\)/g;
/** See `rows`. */
const LIST =
  /\bunnest\(\(select (\$\d+)::int\[\]\)(?:, \(select [^)]*\))*\)\s+(?:with ordinality )?as \w+\((\w+)/;
const OF_ALL = /\/\* of all tenants: (\w+) \*\//g;

function rewritten(text: string): string {
  const tenant = tenantOf(text);
  if (tenant === null) return text;
  const is = (row: string) => `${row}.tenant_id = ${tenant}`;
  return text
    .replace(TWO_ROWS, (_, row: string, other: string) => `(${is(row)} and ${is(other)})`)
    .replace(ROW_OF_LIST, (_, row: string) => is(row))
    .replace(OF_ALL, (_, row: string) => ` and ${is(row)}`);
}

/** The list of tenants that it is given, all equal and always the first column, or the tenant. */
function tenantOf(text: string): string | null {
  const list = LIST.exec(text);
  if (list?.[2] === 'tenant_id') return `(${list[1]}::int[])[1]`;
  if (list) throw new Error(`A list of rows must begin with the tenant, not with ${list[2]}.`);
  return /\btenant_id = (\$\d+)\b/.exec(text)?.[1] ?? null;
}
