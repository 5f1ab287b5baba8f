import type { Queryable } from '@muster/engine';
import { deviceError } from './errors.ts';
import { noSuch } from './who-is-meant.ts';

/** Which runner drives the lanes of a PC's devices. PCs themselves belong to the tasks door. */
export type Pcs = ReturnType<typeof createPcs>;

export function createPcs(s: string) {
  /** Missing PCs do not exist. Those returned cannot be deleted before the end of the transaction. */
  async function runnersOf(
    client: Queryable,
    tenantId: number,
    pcIds: readonly string[],
  ): Promise<Map<string, string>> {
    if (pcIds.length === 0) return new Map();
    const { rows } = await client.query({
      name: 'muster_runners_of_pcs',
      text: `select p.* from (select * from unnest((select $2::bigint[])) i(pc_id) order by i.pc_id) i
        cross join lateral (
          select p.pc_id, p.runner_id from ${s}.pcs p where p.tenant_id = $1 and p.pc_id = i.pc_id limit 1 for key share
        ) p`,
      values: [tenantId, [...new Set(pcIds)]],
    });
    return new Map(rows.map((row) => [row.pc_id, row.runner_id]));
  }

  return {
    runnersOf,

    /** Null for no PC; throws for one that does not exist. */
    async runnerOf(client: Queryable, tenantId: number, pcId: string | null): Promise<string | null> {
      if (pcId === null) return null;
      const runnerId = (await runnersOf(client, tenantId, [pcId])).get(pcId);
      if (runnerId === undefined) throw unknownPc();
      return runnerId;
    },
  };
}

/** Names each one if a list was given. */
export const unknownPc = (ids: readonly string[] = []) =>
  deviceError('MUSTER_UNKNOWN_PC', ids.length > 0 ? noSuch('PC', ids) : 'There is no PC with this id.');
