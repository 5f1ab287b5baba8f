import type { Queryable } from '@muster/engine';

/**
 * Batches of a door that puts the actions into lanes itself: they are shown, paused and cancelled with all others, and the duty of
 * batches has nothing to supply for them.
 */
export interface NewDoorBatch {
  readonly tenantId: number;
  readonly door: string;
  readonly name: string | null;
  readonly action: { readonly kind: string; readonly payload: unknown };
  readonly by: string | null;
}

export interface DoorTarget {
  readonly deviceId: string | null;
  /** As it was written, if there is no such device. */
  readonly target: string | null;
  readonly error: string | null;
  readonly actionId: string | null;
}

export function createDoorBatches(s: string, now: () => Date) {
  return {
    /** In the transaction of its actions, which carry its id. */
    async open(client: Queryable, batch: NewDoorBatch): Promise<{ batchId: string; setId: string }> {
      const { rows } = await client.query({
        name: 'muster_open_door_batch',
        text: `insert into ${s}.batches (tenant_id, set_id, name, action, created_at, created_by, closed_at, door)
          values ($2, nextval('${s}.target_set_seq'), $3, $4, $1, $5, $1, $6) returning batch_id, set_id`,
        values: [now(), batch.tenantId, batch.name, JSON.stringify(batch.action), batch.by, batch.door],
      });
      return { batchId: rows[0].batch_id, setId: rows[0].set_id };
    },

    async fill(
      client: Queryable,
      { tenantId, setId }: { tenantId: number; setId: string },
      targets: readonly DoorTarget[],
    ): Promise<void> {
      await client.query({
        name: 'muster_fill_door_batch',
        text: `with filled as (
            insert into ${s}.targets (tenant_id, set_id, n, device_id, target, error, action_id)
              select $1, $2, i.n, i.device_id, i.target, i.error, i.action_id
              from unnest((select $3::bigint[]), (select $4::text[]), (select $5::text[]), (select $6::bigint[]))
                with ordinality i(device_id, target, error, action_id, n)
          )
          insert into ${s}.target_sets (tenant_id, set_id, total) values ($1, $2, $7)`,
        values: [
          tenantId,
          setId,
          targets.map((one) => one.deviceId),
          targets.map((one) => one.target),
          targets.map((one) => one.error),
          targets.map((one) => one.actionId),
          targets.length,
        ],
      });
    },
  };
}
