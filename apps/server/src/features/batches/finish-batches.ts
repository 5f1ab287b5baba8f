import { type Duty, dutyRun, type Engine } from '@muster/engine';
import type { TargetSets } from '../../fleet/index.ts';

const MOST_BATCHES = 100;
/** Targets per look. Each ended target is passed once, even if later ones are still open. */
const CHUNK = 10_000;
const NOTE = 'batch.finished';

/**
 * Publishes an event for each batch whose targets have all ended. It does not count them: each look resumes at the
 * first target that was still open.
 */
export function createFinishBatches({ note, now, schema: s }: Engine, sets: TargetSets): Duty {
  return {
    name: 'finish-batches',
    everyMs: 1_000,
    due: `exists (select 1 from ${s}.batches b where b.finished_at is null)`,
    whose: `select distinct b.tenant_id from ${s}.batches b where b.finished_at is null and $1::timestamptz is not null`,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_unfinished_batches',
        text: `select b.tenant_id, b.batch_id, b.set_id, b.name, b.ended_up_to, b.cancelled_at, b.aborted_at, t.total from ${s}.batches b
          join ${s}.target_sets t on t.tenant_id = b.tenant_id and t.set_id = b.set_id
          where b.finished_at is null order by b.looked_at nulls first limit ${MOST_BATCHES} for update of b skip locked`,
      });
      let passed = 0;
      for (const row of rows) {
        const isStopped = row.cancelled_at !== null || row.aborted_at !== null;
        const from = row.ended_up_to as number;
        const open = await sets.firstOpen(client, row.tenant_id, row.set_id, {
          after: from,
          chunk: CHUNK,
          isStopped,
        });
        const upTo = open === null ? Math.min(from + CHUNK, row.total) : open - 1;
        const isOver = open === null && upTo === row.total;
        await client.query({
          name: 'muster_batch_looked_at',
          text: `update ${s}.batches set ended_up_to = $3, looked_at = $4, finished_at = case when $5 then $4::timestamptz end
            where tenant_id = $1 and batch_id = $2`,
          values: [row.tenant_id, row.batch_id, upTo, now(), isOver],
        });
        passed = Math.max(passed, upTo - from);
        if (!isOver) continue;
        const status = row.cancelled_at ? 'cancelled' : row.aborted_at ? 'aborted' : 'completed';
        await note(client, [
          {
            ...{ tenantId: row.tenant_id, name: NOTE },
            data: { batchId: row.batch_id, name: row.name, status, total: row.total },
          },
        ]);
      }
      return dutyRun(passed, CHUNK);
    },
  };
}
