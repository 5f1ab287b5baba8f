import type { Queryable } from '@muster/engine';

/** What created an action of a device: a workflow, in one of its runs, or a batch. Their doors know the names. */
export interface Origin {
  readonly workflow?: { readonly id: string; readonly name: string; readonly runId: string };
  readonly batch?: { readonly id: string };
}

/** The known ones of these runs, by id. */
export type NameRuns = (
  client: Queryable,
  tenantId: number,
  runIds: readonly string[],
) => Promise<ReadonlyMap<string, { readonly id: string; readonly name: string }>>;

export type Origins = ReturnType<typeof createOrigins>;

export function createOrigins(s: string) {
  let nameRuns: NameRuns = async () => new Map();
  return {
    nameRuns: (by: NameRuns) => {
      nameRuns = by;
    },

    async of(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, Origin>> {
      if (actionIds.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_origins',
        text: `select b.* from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select b.action_id, b.source, b.source_id from ${s}.assignments b where b.tenant_id = $1 and b.action_id = i.action_id limit 1
          ) b where b.source_id is not null`,
        values: [tenantId, actionIds],
      });
      const runIds = rows.flatMap((row) => (row.source === 'workflow' ? [row.source_id as string] : []));
      const runs = runIds.length > 0 ? await nameRuns(client, tenantId, [...new Set(runIds)]) : new Map();
      return new Map(
        rows.flatMap((row): [string, Origin][] => {
          if (row.source === 'batch' || row.source === 'pipeline')
            return [[row.action_id, { batch: { id: row.source_id } }]];
          const named = runs.get(row.source_id);
          return named ? [[row.action_id, { workflow: { ...named, runId: row.source_id } }]] : [];
        }),
      );
    },
  };
}
