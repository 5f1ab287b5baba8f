import type { Duty, Engine, Queryable } from '@muster/engine';
import type { TargetSets } from '../../fleet/index.ts';
import { mustAbort, paceOf } from './pace.ts';
import type { BatchQueries, BatchRow } from './queries.ts';

/**
 * The duty that moves batches on: queues the next targets' actions as fast as the pace allows, aborts a batch by its
 * rule, and cancels what a stopped batch still has queued. It locks the batch's row meanwhile, so two leaders never
 * supply a target twice; each run is a transaction, so a crash loses nothing and repeats nothing.
 *
 *   supplying ──all queued──► running ──(no rule to watch)──► closed
 *       │  └─────rule─────► aborted ─┐
 *       └──operator──► cancelled ────┴──what is still queued is cancelled──► closed
 */
export const SUPPLY_BATCHES = 'supply-batches';
const EVERY_SECOND = 1_000;
const MOST_BATCHES = 100;
/** Targets per run, shared by all batches that may go on. */
const CHUNK = 1_000;

interface Step {
  readonly count: number;
  readonly more: boolean;
}
const NOTHING: Step = { count: 0, more: false };

export function createSupplyBatches(engine: Engine, queries: BatchQueries, sets: TargetSets): Duty {
  /**
   * Cancels what a stopped batch still has queued. Running actions are told only if an operator cancelled the batch.
   */
  async function sweep(client: Queryable, batch: BatchRow): Promise<Step> {
    const { tenantId, setId } = batch;
    const reason = batch.cancelledAt ? 'The batch was cancelled.' : 'The batch was aborted.';
    const pending = await sets.actionsIn(client, tenantId, setId, ['pending'], CHUNK);
    if (pending.length > 0) await engine.cancelMatching(client, { tenantId, ids: pending }, reason);
    if (pending.length === CHUNK) return { count: pending.length, more: true };
    if (batch.cancelledAt) {
      const running = await sets.actionsIn(client, tenantId, setId, ['claimed'], batch.total);
      if (running.length > 0) await engine.cancelMatching(client, { tenantId, ids: running }, reason);
    }
    await queries.mark(client, batch, { closed: true });
    return { count: pending.length, more: false };
  }

  async function supply(client: Queryable, batch: BatchRow, chunk: number): Promise<Step> {
    const { tenantId, batchId, setId } = batch;
    const watched = batch.abort !== null || batch.ramp !== null;
    const counts = watched ? (await sets.counts(client, tenantId, [setId])).get(setId) : undefined;
    if (counts && mustAbort(batch.abort, counts)) {
      await queries.mark(client, batch, { aborted: true });
      return { count: 1, more: true };
    }
    const perMinute = paceOf(batch, counts ?? { done: 0 });
    const allowed =
      perMinute === null ? chunk : Math.min(chunk, perMinute - (await queries.suppliedLately(client, batch)));
    if (allowed <= 0) return NOTHING;
    const from = {
      tenantId,
      source: 'batch' as const,
      sourceId: batchId,
      by: batch.createdBy,
      tags: [tagOf(batchId)],
    };
    const { supplied, dealtWith } = await sets.supply(client, from, setId, batch.action, allowed);
    if (perMinute !== null && supplied > 0) await queries.noteSupplied(client, batch, supplied);
    const all = dealtWith < allowed;
    // With a rule it stays open until everything has ended: the rule may still stop what is queued.
    const over = all && (batch.abort === null || (counts !== undefined && isOver(counts)));
    if (over) await queries.mark(client, batch, { closed: true });
    return { count: dealtWith, more: !all && perMinute === null };
  }

  return {
    name: SUPPLY_BATCHES,
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${engine.schema}.batches b where b.closed_at is null)`,
    whose: `select distinct b.tenant_id from ${engine.schema}.batches b where b.closed_at is null and $1::timestamptz is not null`,
    async runOnce(client) {
      const open = await queries.lockOpen(client, MOST_BATCHES);
      const chunk = Math.max(100, Math.floor(CHUNK / Math.max(1, open.length)));
      let count = 0;
      let more = open.length === MOST_BATCHES;
      for (const batch of open) {
        const stopped = batch.cancelledAt !== null || batch.abortedAt !== null;
        const step = stopped ? await sweep(client, batch) : await supply(client, batch, chunk);
        count += step.count;
        more ||= step.more;
      }
      return { answers: [], transitions: [], wakes: [], count, more };
    },
  };
}

/** Every action of a batch has this tag, so all of them can be paused at once. */
export function tagOf(batchId: string): string {
  return `batch:${batchId}`;
}

function isOver(counts: { waiting: number; pending: number; sent: number }): boolean {
  return counts.waiting + counts.pending + counts.sent === 0;
}
