import type { Queryable } from '@muster/engine';
import { isId } from '../http/ids.ts';
import { targetOf } from '../http/instance.ts';

/** Names for the rows of a table; missing rows are left out. Looked up by key, a page at a time. */
export const namesById =
  (s: string, of: { readonly table: string; readonly id: string }) =>
  async (client: Queryable, tenantId: number, ids: readonly string[]): Promise<Map<string, string>> => {
    const known = [...new Set(ids.filter(isId))];
    if (known.length === 0) return new Map();
    const { rows } = await client.query({
      name: `muster_names_of_${of.table}`,
      text: `select x.${of.id} as id, x.name from unnest((select $2::bigint[])) i(id)
        cross join lateral (
          select * from ${s}.${of.table} x where x.tenant_id = $1 and x.${of.id} = i.id limit 1
        ) x`,
      values: [tenantId, known],
    });
    return new Map(rows.map((row) => [row.id, row.name]));
  };

/** The same for workers named by such an id, as `host:1` or `host:1#` and an instance. */
export const namesOfWorkers =
  (holderOf: (id: string) => string, namesOf: ReturnType<typeof namesById>) =>
  async (client: Queryable, tenantId: number, workers: readonly string[]): Promise<Map<string, string>> => {
    const prefix = holderOf('');
    const idOf = (worker: string) => (worker.startsWith(prefix) ? targetOf(worker).slice(prefix.length) : '');
    const names = await namesOf(client, tenantId, workers.map(idOf));
    return new Map(
      workers.flatMap((worker) => {
        const name = names.get(idOf(worker));
        return name === undefined ? [] : [[worker, name]];
      }),
    );
  };
