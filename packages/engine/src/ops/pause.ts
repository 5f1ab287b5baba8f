import type { Queryable } from '../db.ts';
import type { Context, Run } from '../operation.ts';
import { checkName, checkTenant } from '../values.ts';

/**
 * "Stop everything": a tenant, or all its actions with a tag. What runs goes on; nothing new is handed out to a claim
 * that begins after the pause was acknowledged. (A lane is paused in its own row: see lanes.ts.)
 */
export type PauseScope = { readonly tenantId: number; readonly tag?: string };

const EVERYTHING = '';

export function createPauseOps(context: Context) {
  const s = context.schema;
  const tagOf = (scope: PauseScope) => {
    checkTenant(scope.tenantId);
    return scope.tag === undefined ? EVERYTHING : checkName(scope.tag, 'tag');
  };
  return {
    async pause(client: Queryable, scope: PauseScope): Promise<Run<null>> {
      await client.query({
        text: `insert into ${s}.pauses (tenant_id, tag, paused_at) values ($1, $2, $3) on conflict do nothing`,
        values: [scope.tenantId, tagOf(scope), context.now()],
      });
      // what is paused by its tag holds up nothing any more
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

    async list(client: Queryable, tenantId: number): Promise<{ tag: string | null; pausedAt: Date }[]> {
      const { rows } = await client.query({
        text: `select tag, paused_at from ${s}.pauses where tenant_id = $1 order by tag`,
        values: [tenantId],
      });
      return rows.map((row) => ({ tag: row.tag === EVERYTHING ? null : row.tag, pausedAt: row.paused_at }));
    },
  };
}
