import { type Duty, dutyRun, type Engine, type Queryable } from '@muster/engine';

/** An id stands for its message for this long, and until the message has ended. QStash also has ten minutes. */
const WINDOW_MS = 600_000;
const MOST = 500;

const FINISHED = `coalesce((
  select a.state in ('succeeded', 'failed', 'cancelled', 'expired') from {s}.action_states a
  where a.tenant_id = d.tenant_id and a.action_id = d.action_id limit 1), true)`;

/** A cancelled message, or one being cancelled, will not be sent: its id is free at once. */
const CANCELLED = `(
  select a.state = 'cancelled' or (a.state = 'claimed' and exists (
    select 1 from {s}.action_events e
    where e.tenant_id = d.tenant_id and e.action_id = d.action_id and e.type = 'CANCEL_REQUESTED'))
  from {s}.action_states a where a.tenant_id = d.tenant_id and a.action_id = d.action_id limit 1)`;

/** The message of a deduplication id. Two concurrent requests wait for each other on the row. */
export function createDeduplication({ schema: s, now }: Pick<Engine, 'schema' | 'now'>) {
  const finished = FINISHED.replaceAll('{s}', s);
  const cancelled = CANCELLED.replaceAll('{s}', s);

  /** Locked, so it stays as it is. */
  async function find(
    tx: Queryable,
    tenantId: number,
    id: string,
    at: Date,
  ): Promise<{ action_id: string | null; is_free: boolean } | null> {
    const { rows } = await tx.query({
      name: 'muster_callback_deduplication',
      text: `select d.action_id, (d.look_at <= $3::timestamptz and ${finished}) or coalesce(${cancelled}, false) as is_free
        from ${s}.callback_deduplications d where d.tenant_id = $1 and d.deduplication_id = $2 for update`,
      values: [tenantId, id, at],
    });
    return rows[0] ?? null;
  }

  return {
    /** The existing action, or null: the id is the caller's, who then stores its message with `means`. */
    async take(tx: Queryable, tenantId: number, id: string): Promise<string | null> {
      const at = now();
      const lookAt = new Date(at.getTime() + WINDOW_MS);
      for (;;) {
        const { rows: taken } = await tx.query({
          name: 'muster_callback_deduplicate',
          text: `insert into ${s}.callback_deduplications (tenant_id, deduplication_id, look_at) values ($1, $2, $3)
            on conflict (tenant_id, deduplication_id) do nothing returning 1`,
          values: [tenantId, id, lookAt],
        });
        if (taken.length > 0) return null;
        const known = await find(tx, tenantId, id, at);
        // it may just have been forgotten
        if (!known) continue;
        if (!known.is_free) return known.action_id;
        await tx.query({
          text: `update ${s}.callback_deduplications set look_at = $3 where tenant_id = $1 and deduplication_id = $2`,
          values: [tenantId, id, lookAt],
        });
        return null;
      }
    },

    async means(tx: Queryable, tenantId: number, id: string, actionId: string): Promise<void> {
      await tx.query({
        name: 'muster_callback_deduplicated',
        text: `update ${s}.callback_deduplications set action_id = $3 where tenant_id = $1 and deduplication_id = $2`,
        values: [tenantId, id, actionId],
      });
    },

    /** Deletes ids of messages that have ended; the others are checked again later. */
    forgetting: (): Duty => ({
      name: 'forget-deduplication',
      everyMs: 10_000,
      byIndex: true,
      whose: `select distinct d.tenant_id from ${s}.callback_deduplications d where d.look_at <= $1::timestamptz`,
      async runOnce(client) {
        const at = now();
        const { rows } = await client.query({
          name: 'muster_callback_forget',
          text: `with due as materialized (
              select d.tenant_id, d.deduplication_id, ${finished} as is_finished from ${s}.callback_deduplications d
              where d.look_at <= $1::timestamptz order by d.look_at limit ${MOST} for update skip locked
            ), gone as (
              delete from ${s}.callback_deduplications d using due
              where d.tenant_id = any(array[due.tenant_id]) and d.deduplication_id = due.deduplication_id and due.is_finished
            ), later as (
              update ${s}.callback_deduplications d set look_at = $2 from due
              where d.tenant_id = any(array[due.tenant_id]) and d.deduplication_id = due.deduplication_id and not due.is_finished
            )
            select count(*)::int as n from due`,
          values: [at, new Date(at.getTime() + WINDOW_MS)],
        });
        return dutyRun(rows[0].n, MOST);
      },
    }),
  };
}
