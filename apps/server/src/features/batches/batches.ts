import type { NewBatch } from '@muster/contracts';
import type { Engine, Queryable } from '@muster/engine';
import { pauseNote } from '../../events/pause-note.ts';
import type { Target, TargetCounts, TargetSets } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';
import { hidePayload } from '../../http/hidden-fields.ts';
import { isId } from '../../http/ids.ts';
import { refusePast } from '../../http/past-times.ts';
import type { RedriveWish, Redriving } from '../../redriving/redriving.ts';
import { batchError } from './errors.ts';
import { paceOf } from './pace.ts';
import type { BatchQueries, BatchRow } from './queries.ts';
import { tagOf } from './supply-batches.ts';

/** What operators do with batches. All writes run in the caller's transaction. */
const MOST_REDRIVEN_AT_ONCE = 1_000;

export type Batches = ReturnType<typeof createBatches>;

export function createBatches(tools: {
  engine: Engine;
  queries: BatchQueries;
  redriving: Redriving;
  sets: TargetSets;
}) {
  const { engine, queries, redriving, sets } = tools;

  async function locked(client: Queryable, tenantId: number, id: string): Promise<BatchRow> {
    const batch = isId(id) ? await queries.lock(client, tenantId, id) : null;
    if (!batch) throw unknownBatch();
    return batch;
  }

  async function unstopped(client: Queryable, tenantId: number, id: string): Promise<BatchRow> {
    const batch = await locked(client, tenantId, id);
    if (batch.cancelledAt || batch.abortedAt)
      throw httpError('MUSTER_FINISHED', `This batch was ${batch.cancelledAt ? 'cancelled' : 'aborted'}.`);
    return batch;
  }

  return {
    /** Freezes the targets; supply-batches.ts queues their actions. */
    async accept(client: Queryable, tenantId: number, body: NewBatch, by: string): Promise<string> {
      await refusePast(engine.now(), {
        'action.deliverBy': body.action.deliverBy,
        'action.deadline': body.action.deadline,
      });
      const { setId } = await sets.freeze(client, tenantId, body.targets);
      return queries.insert(client, {
        tenantId,
        setId,
        name: body.name ?? null,
        action: body.action,
        ratePerMinute: body.ratePerMinute ?? null,
        ramp: body.ramp ?? null,
        abort: body.abort ?? null,
        createdBy: by,
      });
    },

    async pause(client: Queryable, tenantId: number, id: string, by: string): Promise<void> {
      const batch = await unstopped(client, tenantId, id);
      await queries.mark(client, batch, { paused: true });
      await engine.pause(client, { tenantId, tag: tagOf(id), by });
      await engine.note(client, [pauseNote(tenantId, true, { tag: tagOf(id) })]);
    },

    async resume(client: Queryable, tenantId: number, id: string): Promise<void> {
      const batch = await unstopped(client, tenantId, id);
      await queries.mark(client, batch, { paused: false });
      await engine.resume(client, { tenantId, tag: tagOf(id) });
      await engine.note(client, [pauseNote(tenantId, false, { tag: tagOf(id) })]);
    },

    /** Queued actions are cancelled by the next runs of the duty; running ones are told. */
    async cancel(client: Queryable, tenantId: number, id: string): Promise<void> {
      const batch = await locked(client, tenantId, id);
      // otherwise a completed batch would be shown as cancelled for good
      const counts = (await sets.counts(client, tenantId, [batch.setId])).get(batch.setId) as TargetCounts;
      if (statusOf(batch, counts) === 'completed')
        throw httpError('MUSTER_FINISHED', 'This batch has completed already.');
      await queries.mark(client, batch, { cancelled: true, closed: false });
      if (batch.pausedAt) await engine.resume(client, { tenantId, tag: tagOf(id) });
    },

    /**
     * Redrives the failed actions that may be redriven, creates new actions for targets that never reached their
     * device, and resumes what was stopped.
     */
    async retry(client: Queryable, wish: RedriveWish, id: string) {
      const { tenantId } = wish.caller;
      const batch = await locked(client, tenantId, id);
      let redriven = 0;
      let refused = 0;
      for (let after = -1; ; ) {
        const page = { after, limit: MOST_REDRIVEN_AT_ONCE };
        const failed = await sets.deadLetters(client, tenantId, batch.setId, page);
        const last = failed.at(-1);
        if (!last) break;
        after = last.n;
        const ids = failed.map(({ actionId }) => actionId);
        const kept = await redriving.refusals(client, tenantId, ids, wish);
        refused += kept.size;
        const allowed = ids.filter((actionId) => !kept.has(actionId));
        if (allowed.length === 0) continue;
        const filter = { tenantId, ids: allowed };
        redriven += (await engine.redriveMatching(client, filter, 'The batch was retried.')).redriven;
      }
      const isStopped = batch.cancelledAt !== null || batch.abortedAt !== null;
      const stopped = isStopped ? await sets.unsupplied(client, tenantId, batch.setId) : 0;
      // actions of another door can only be made again by that door
      const again = batch.door ? 0 : stopped + (await sets.supplyAgain(client, tenantId, batch.setId));
      await queries.mark(client, batch, { cancelled: false, aborted: false, closed: false, finished: false });
      return { id, redriven, again, refused };
    },

    /** Targets that had no action yet when the batch was stopped are shown as stopped, as they are in its counts. */
    async targets(
      client: Queryable,
      batch: BatchRow,
      page: { state?: string | undefined; after: number; limit: number },
    ): Promise<Target[]> {
      const isOver = isStopped(batch);
      const { state } = page;
      if (state === (isOver ? 'waiting' : 'stopped')) return [];
      const rows = await sets.list(client, batch.tenantId, batch.setId, {
        ...page,
        state: state === 'stopped' ? 'waiting' : state,
      });
      return rows.map((row) => (isOver && row.state === 'waiting' ? { ...row, state: 'stopped' } : row));
    },

    async show(client: Queryable, rows: readonly BatchRow[]) {
      if (rows.length === 0) return [];
      const counts = await sets.counts(
        client,
        (rows[0] as BatchRow).tenantId,
        rows.map((row) => row.setId),
      );
      return rows.map((row) => wire(row, counts.get(row.setId) as TargetCounts));
    },

    async known(client: Queryable, tenantId: number, id: string): Promise<BatchRow> {
      const batch = isId(id) ? await queries.get(client, tenantId, id) : null;
      if (!batch) throw unknownBatch();
      return batch;
    },
  };
}

const isStopped = (row: BatchRow) => row.cancelledAt !== null || row.abortedAt !== null;

function wire(row: BatchRow, counts: TargetCounts) {
  const isOver = isStopped(row);
  return {
    id: row.batchId,
    name: row.name,
    status: statusOf(row, counts),
    total: row.total,
    counts: {
      ...counts,
      waiting: isOver ? 0 : counts.waiting,
      stopped: isOver ? counts.waiting : 0,
    },
    action: hidePayload(row.action),
    ratePerMinute: row.ratePerMinute ?? undefined,
    ramp: row.ramp ?? undefined,
    abort: row.abort ?? undefined,
    perMinute: paceOf(row, counts),
    createdAt: row.createdAt,
    createdBy: row.createdBy,
  };
}

function statusOf(row: BatchRow, counts: TargetCounts) {
  if (row.cancelledAt) return 'cancelled';
  if (row.abortedAt) return 'aborted';
  if (counts.waiting + counts.pending + counts.sent === 0) return 'completed';
  if (row.pausedAt) return 'paused';
  return counts.waiting > 0 ? 'supplying' : 'running';
}

const unknownBatch = () => batchError('MUSTER_UNKNOWN_BATCH', 'There is no batch with this id.');
