import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import type { Context, Run } from '../operation.ts';
import { checkRunner, checkTenant, checkWhole } from '../values.ts';

/**
 * Runners and their slots. A change of slots raises the version, so that no claim that counted before it succeeds after
 * it.
 */
export function createRunnerOps(context: Context) {
  const s = context.schema;
  return {
    async create(client: Queryable, tenantId: number, slots: number | null): Promise<string> {
      const { rows } = await client.query({
        text: `insert into ${s}.runners (tenant_id, slots) values ($1, $2) returning runner_id`,
        values: [checkTenant(tenantId), checkSlots(slots)],
      });
      return rows[0].runner_id;
    },

    async setSlots(
      client: Queryable,
      tenantId: number,
      runnerId: string,
      slots: number | null,
    ): Promise<Run<null>> {
      const { rows } = await client.query({
        text: `update ${s}.runners set slots = $3, ver = ver + 1 where tenant_id = $1 and runner_id = $2 returning runner_id`,
        values: [checkTenant(tenantId), checkRunner(runnerId), checkSlots(slots)],
      });
      if (rows.length === 0) throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      return { answers: [null], transitions: [], wakes: [{ tenantId, runnerId }] };
    },
  };
}

function checkSlots(slots: number | null): number | null {
  return slots === null ? null : checkWhole(slots, 'slots', 1);
}
