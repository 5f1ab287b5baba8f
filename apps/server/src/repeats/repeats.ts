import { type Duty, dutyRun, EngineError, type Queryable } from '@muster/engine';

/**
 * Requests that are sent again, for whatever makes more than an action: the key is stored in the transaction of what it
 * names, so both are there or neither, and who comes with the same key meanwhile waits for that transaction. Keys of single
 * actions are kept by the engine, under the same rules.
 */
const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

export interface Repeatable {
  readonly tenantId: number;
  /** Of `readIdempotencyKey`; without one every request is a new one. */
  readonly key: string | undefined;
  /** Everything that makes it this request: parameters of the path and the body. */
  readonly said: unknown;
}

export interface Made {
  readonly id: string;
  readonly isNew: boolean;
}

export type Repeats = ReturnType<typeof createRepeats>;

export function createRepeats(s: string, now: () => Date) {
  // as jsonb: the order of keys and the spaces between them say nothing
  const HASH = `sha256(convert_to($3::jsonb::text, 'UTF8'))`;

  async function take(tx: Queryable, { tenantId, key, said }: Repeatable): Promise<string | null> {
    const values = [tenantId, key, JSON.stringify(said)];
    const { rows: taken } = await tx.query({
      text: `insert into ${s}.request_keys (tenant_id, key, body_hash, at) values ($1, $2, ${HASH}, $4)
        on conflict (tenant_id, key) do nothing returning 1`,
      values: [...values, now()],
    });
    if (taken.length > 0) return null;
    const { rows } = await tx.query({
      text: `select made, body_hash = ${HASH} as same from ${s}.request_keys where tenant_id = $1 and key = $2`,
      values,
    });
    // pruned between the two: it is as old as if it had never been
    if (!rows[0]) return take(tx, { tenantId, key, said });
    if (!rows[0].same)
      throw new EngineError(
        'MUSTER_IDEMPOTENCY_MISMATCH',
        'This idempotency key was used for another request.',
      );
    return rows[0].made;
  }

  return {
    /** In the caller's transaction: makes it, or says what the same request has made before. */
    async once(tx: Queryable, request: Repeatable, make: () => Promise<string>): Promise<Made> {
      if (request.key === undefined) return { id: await make(), isNew: true };
      const known = await take(tx, request);
      if (known !== null) return { id: known, isNew: false };
      const id = await make();
      await tx.query({
        text: `update ${s}.request_keys set made = $3 where tenant_id = $1 and key = $2`,
        values: [request.tenantId, request.key, id],
      });
      return { id, isNew: true };
    },

    /** A key is kept as long as what is finished is. */
    pruning: (days: number): Duty => ({
      name: 'prune-request-keys',
      everyMs: EVERY_TEN_MINUTES,
      async runOnce(client) {
        const { rows } = await client.query({
          name: 'muster_prune_request_keys',
          text: `with old as (
              delete from ${s}.request_keys where (tenant_id, key) in (
                select tenant_id, key from ${s}.request_keys where at < $1::timestamptz - make_interval(days => $2)
                order by at limit ${MOST_PRUNED})
              returning 1
            ) select count(*)::int as pruned from old`,
          values: [now(), days],
        });
        return dutyRun(rows[0].pruned, MOST_PRUNED);
      },
    }),
  };
}
