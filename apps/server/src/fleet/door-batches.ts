import type { Queryable } from '@muster/engine';

/**
 * Batches of a door that queues the actions itself: they are shown, paused and cancelled like all others, but the duty
 * of batches supplies nothing for them.
 */
export interface NewDoorBatch {
  readonly door: string;
  readonly name: string | null;
  readonly action: { readonly kind: string; readonly payload: unknown };
  readonly by: string | null;
}

export interface DoorBatch {
  readonly batchId: string;
  readonly setId: string;
}

export interface DoorTarget {
  readonly deviceId: string | null;
  /** As given, if there is no such device. */
  readonly target: string | null;
  readonly error: string | null;
  /** As answered to the caller; a repeated request gets the same answer. */
  readonly message?: string | null;
  readonly actionId: string | null;
}

export function createDoorBatches(s: string, now: () => Date) {
  return {
    /** In the transaction that queues their actions, which carry their ids. In order. */
    async open(client: Queryable, tenantId: number, batches: readonly NewDoorBatch[]): Promise<DoorBatch[]> {
      const { rows } = await client.query({
        name: 'muster_open_door_batches',
        text: `with i as materialized (
            select i.*, nextval('${s}.batch_seq') as batch_id, nextval('${s}.target_set_seq') as set_id
            from unnest((select $3::text[]), (select $4::text[]), (select $5::jsonb[]), (select $6::text[]))
              with ordinality i(door, name, action, created_by, ord)
          ), b as (
            insert into ${s}.batches (tenant_id, batch_id, set_id, name, action, created_at, created_by, closed_at, door)
              select $2, batch_id, set_id, name, action, $1, created_by, $1, door from i
          )
          select batch_id, set_id from i order by ord`,
        values: [
          now(),
          tenantId,
          batches.map((one) => one.door),
          batches.map((one) => one.name),
          batches.map((one) => JSON.stringify(one.action)),
          batches.map((one) => one.by),
        ],
      });
      return rows.map((row) => ({ batchId: row.batch_id, setId: row.set_id }));
    },

    /** Each batch once, with all its devices. */
    async fill(
      client: Queryable,
      tenantId: number,
      sets: readonly { readonly setId: string; readonly targets: readonly DoorTarget[] }[],
    ): Promise<void> {
      const rows = sets.flatMap(({ setId, targets }) =>
        targets.map((one, n) => ({ setId, n: n + 1, ...one })),
      );
      await client.query({
        name: 'muster_fill_door_batches',
        text: `with filled as (
            insert into ${s}.targets (tenant_id, set_id, n, device_id, target, error, action_id, error_message)
              select $1, i.set_id, i.n, i.device_id, i.target, i.error, i.action_id, i.error_message
              from unnest((select $2::bigint[]), (select $3::int[]), (select $4::bigint[]), (select $5::text[]), (select $6::text[]),
                (select $7::bigint[]), (select $10::text[])) i(set_id, n, device_id, target, error, action_id, error_message)
          )
          insert into ${s}.target_sets (tenant_id, set_id, total)
            select $1, i.set_id, i.total from unnest((select $8::bigint[]), (select $9::int[])) i(set_id, total)`,
        values: [
          tenantId,
          rows.map((one) => one.setId),
          rows.map((one) => one.n),
          rows.map((one) => one.deviceId),
          rows.map((one) => one.target),
          rows.map((one) => one.error),
          rows.map((one) => one.actionId),
          sets.map((one) => one.setId),
          sets.map((one) => one.targets.length),
          rows.map((one) => one.message ?? null),
        ],
      });
    },
  };
}
