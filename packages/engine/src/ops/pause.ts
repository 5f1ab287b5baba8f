import type { Queryable } from '../db.ts';
import type { Context, Run } from '../operation.ts';
import { checkName, checkTenant } from '../values.ts';

/**
 * "Stop everything": a tenant, or all its actions with a tag. Running actions go on; a claim that begins after the
 * pause was acknowledged gets nothing new. (A lane is paused in its own row: see lanes.ts.)
 */
export type PauseScope = { readonly tenantId: number; readonly tag?: string };

export interface Pause {
  readonly tag: string | null;
  readonly pausedAt: Date;
  /** Null: the operator is not known. */
  readonly pausedBy: string | null;
}

const EVERYTHING = '';

export function createPauseOps(context: Context) {
  const s = context.schema;
  const tagOf = (scope: PauseScope) => {
    checkTenant(scope.tenantId);
    return scope.tag === undefined ? EVERYTHING : checkName(scope.tag, 'tag');
  };
  return {
    async pause(client: Queryable, scope: PauseScope & { readonly by?: string }): Promise<Run<null>> {
      await client.query({
        text: `insert into ${s}.pauses (tenant_id, tag, paused_at, paused_by) values ($1, $2, $3, $4) on conflict do nothing`,
        values: [scope.tenantId, tagOf(scope), context.now(), scope.by ?? null],
      });
      // an action paused by its tag no longer holds up others
      const wakes = scope.tag === undefined ? [] : [{ tenantId: scope.tenantId }];
      return { answers: [null], transitions: [], wakes };
    },

    async resume(client: Queryable, scope: PauseScope): Promise<Run<null>> {
      await client.query({
        text: `delete from ${s}.pauses where tenant_id = $1 and tag = $2`,
        values: [scope.tenantId, tagOf(scope)],
      });
      return { answers: [null], transitions: [], wakes: [{ tenantId: scope.tenantId }] };
    },

    /** A null tag is everything. */
    async list(client: Queryable, tenantId: number): Promise<Pause[]> {
      const { rows } = await client.query({
        text: `select tag, paused_at, paused_by from ${s}.pauses where tenant_id = $1 order by tag`,
        values: [tenantId],
      });
      return rows.map((row) => ({
        tag: row.tag === EVERYTHING ? null : row.tag,
        pausedAt: row.paused_at,
        pausedBy: row.paused_by,
      }));
    },
  };
}
