import type { DeviceAction } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import type { AbortRule, Pace } from './pace.ts';

export interface BatchRow extends Pace {
  readonly tenantId: number;
  readonly batchId: string;
  readonly setId: string;
  readonly total: number;
  readonly name: string | null;
  readonly action: DeviceAction;
  readonly abort: AbortRule | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly pausedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly abortedAt: Date | null;
  /** The door that queues its actions, if not the duty here. */
  readonly door: string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement below
function batch(row: any): BatchRow {
  return {
    tenantId: row.tenant_id,
    batchId: row.batch_id,
    setId: row.set_id,
    total: row.total,
    name: row.name,
    action: row.action,
    ratePerMinute: row.per_minute,
    ramp: row.ramp,
    abort: row.abort,
    createdAt: row.created_at,
    createdBy: row.created_by,
    pausedAt: row.paused_at,
    cancelledAt: row.cancelled_at,
    abortedAt: row.aborted_at,
    door: row.door,
  };
}

export type BatchQueries = ReturnType<typeof createBatchQueries>;

export function createBatchQueries(s: string, now: () => Date) {
  const NOW = '$1::timestamptz';
  const select = `select b.*, t.total from ${s}.batches b
    join ${s}.target_sets t on t.tenant_id = b.tenant_id and t.set_id = b.set_id`;

  return {
    async insert(
      client: Queryable,
      given: Pick<
        BatchRow,
        'tenantId' | 'setId' | 'name' | 'action' | 'ratePerMinute' | 'ramp' | 'abort' | 'createdBy'
      >,
    ): Promise<string> {
      const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
      const { rows } = await client.query({
        text: `insert into ${s}.batches (created_at, tenant_id, set_id, name, action, per_minute, ramp, abort, created_by)
          values (${NOW}, $2, $3, $4, $5, $6, $7, $8, $9) returning batch_id`,
        values: [
          now(),
          given.tenantId,
          given.setId,
          given.name,
          json(given.action),
          given.ratePerMinute,
          json(given.ramp),
          json(given.abort),
          given.createdBy,
        ],
      });
      return rows[0].batch_id;
    },

    async get(client: Queryable, tenantId: number, batchId: string): Promise<BatchRow | null> {
      const { rows } = await client.query({
        text: `${select} where b.tenant_id = $1 and b.batch_id = $2`,
        values: [tenantId, batchId],
      });
      return rows[0] ? batch(rows[0]) : null;
    },

    /** Until the transaction ends, no other one supplies or changes the batch. */
    async lock(client: Queryable, tenantId: number, batchId: string): Promise<BatchRow | null> {
      const { rows } = await client.query({
        text: `${select} where b.tenant_id = $1 and b.batch_id = $2 for update of b`,
        values: [tenantId, batchId],
      });
      return rows[0] ? batch(rows[0]) : null;
    },

    /** Newest first. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { before?: string | undefined; limit: number },
    ): Promise<BatchRow[]> {
      const { rows } = await client.query({
        text: `${select} where b.tenant_id = $1 and ($2::bigint is null or b.batch_id < $2) order by b.batch_id desc limit $3`,
        values: [tenantId, page.before ?? null, page.limit],
      });
      return rows.map(batch);
    },

    /** Batches of all tenants that need work. Those locked by another transaction are skipped. */
    async lockOpen(client: Queryable, most: number): Promise<BatchRow[]> {
      const { rows } = await client.query({
        name: 'muster_open_batches',
        text: `${select} where b.closed_at is null and (b.paused_at is null or b.cancelled_at is not null)
          order by b.tenant_id, b.batch_id limit ${most} for update of b skip locked`,
      });
      return rows.map(batch);
    },

    async mark(
      client: Queryable,
      { tenantId, batchId }: Pick<BatchRow, 'tenantId' | 'batchId'>,
      marks: { paused?: boolean; cancelled?: boolean; aborted?: boolean; closed?: boolean; finished?: false },
    ): Promise<void> {
      const sets = Object.entries(marks).map(([mark, on]) =>
        on ? `${mark}_at = coalesce(${mark}_at, ${NOW})` : `${mark}_at = null`,
      );
      if (marks.finished === false) sets.push('ended_up_to = 0');
      await client.query({
        text: `update ${s}.batches set ${sets.join(', ')} where tenant_id = $2 and batch_id = $3 and ${NOW} is not null`,
        values: [now(), tenantId, batchId],
      });
    },

    /** How many were queued within the last minute. */
    async suppliedLately(client: Queryable, { tenantId, batchId }: BatchRow): Promise<number> {
      const { rows } = await client.query({
        text: `with old as (
            delete from ${s}.batch_supplies where tenant_id = $2 and batch_id = $3 and at <= ${NOW} - interval '1 minute'
          )
          select coalesce(sum(supplied), 0)::int as n from ${s}.batch_supplies
          where tenant_id = $2 and batch_id = $3 and at > ${NOW} - interval '1 minute'`,
        values: [now(), tenantId, batchId],
      });
      return rows[0].n;
    },

    async noteSupplied(client: Queryable, { tenantId, batchId }: BatchRow, supplied: number): Promise<void> {
      await client.query({
        text: `insert into ${s}.batch_supplies (at, tenant_id, batch_id, supplied) values (${NOW}, $2, $3, $4)`,
        values: [now(), tenantId, batchId, supplied],
      });
    },
  };
}
