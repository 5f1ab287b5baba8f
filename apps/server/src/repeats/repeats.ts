import { type Duty, dutyRun, EngineError, type Queryable } from '@muster/engine';

/**
 * Idempotency keys of requests that create anything but a single action: the key is stored in the transaction of what
 * it names, so both are stored or neither, and a concurrent request with the same key waits for that transaction. The
 * engine keeps the keys of single actions, by the same rules.
 */
const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

export interface Repeatable {
  readonly tenantId: number;
  /** From `readIdempotencyKey`; without a key every request is a new one. */
  readonly key: string | undefined;
  /** Everything that identifies the request: parameters of the path and the body. */
  readonly said: unknown;
}

/** A request with a key. */
export interface Keyed {
  readonly key: string;
  readonly said: unknown;
}

/** What a key stands for; null: nothing, and it is free again. */
export interface KeyMade {
  readonly key: string;
  readonly id: string | null;
}

const mismatch = () =>
  new EngineError(
    'MUSTER_IDEMPOTENCY_MISMATCH',
    'This idempotency key was already used for another request.',
  );

export interface Made {
  readonly id: string;
  readonly isNew: boolean;
}

export type Repeats = ReturnType<typeof createRepeats>;

export function createRepeats(s: string, now: () => Date) {
  // as jsonb: the order of fields and white space do not matter
  const HASH = `sha256(convert_to(i.said::text, 'UTF8'))`;
  const GIVEN = `unnest((select $2::text[]), (select $3::jsonb[])) i(key, said)`;

  /** Each key once. For each: null if it is taken now, what the same request has created, or why it is refused. */
  async function takeAll(
    tx: Queryable,
    tenantId: number,
    asked: readonly Keyed[],
  ): Promise<Map<string, string | null | EngineError>> {
    const values = [tenantId, asked.map(({ key }) => key), asked.map(({ said }) => JSON.stringify(said))];
    const { rows: taken } = await tx.query({
      name: 'muster_take_request_keys',
      text: `insert into ${s}.request_keys (tenant_id, key, body_hash, at) select $1, i.key, ${HASH}, $4 from ${GIVEN} order by i.key
        on conflict (tenant_id, key) do nothing returning key`,
      values: [...values, now()],
    });
    const answers = new Map<string, string | null | EngineError>(taken.map(({ key }) => [key, null]));
    if (answers.size === asked.length) return answers;
    const { rows } = await tx.query({
      name: 'muster_made_before',
      text: `select k.key, k.made, k.body_hash = ${HASH} as same from ${GIVEN} cross join lateral (
          select * from ${s}.request_keys k where k.tenant_id = $1 and k.key = i.key limit 1
        ) k`,
      values,
    });
    for (const { key, made, same } of rows) if (!answers.has(key)) answers.set(key, same ? made : mismatch());
    const gone = asked.filter(({ key }) => !answers.has(key));
    // pruned between the two statements, so they count as new
    return gone.length === 0 ? answers : new Map([...answers, ...(await takeAll(tx, tenantId, gone))]);
  }

  async function note(tx: Queryable, tenantId: number, made: readonly KeyMade[]): Promise<void> {
    if (made.length === 0) return;
    await tx.query({
      name: 'muster_note_made',
      text: `with i as materialized (
          select * from unnest((select $2::text[]), (select $3::bigint[])) i(key, made)
        ), free as (
          delete from ${s}.request_keys k using i where k.tenant_id = any(array[$1::int]) and k.key = i.key and i.made is null
        )
        update ${s}.request_keys k set made = i.made from i
        where k.tenant_id = any(array[$1::int]) and k.key = i.key and i.made is not null`,
      values: [tenantId, made.map(({ key }) => key), made.map(({ id }) => id)],
    });
  }

  return {
    takeAll,
    /** Stores what the keys taken in this transaction stand for. */
    note,

    /** In the caller's transaction: creates it, or returns what the same request created before. */
    async once(tx: Queryable, request: Repeatable, make: () => Promise<string>): Promise<Made> {
      if (request.key === undefined) return { id: await make(), isNew: true };
      const { tenantId, key, said } = request;
      const known = (await takeAll(tx, tenantId, [{ key, said }])).get(key);
      if (known instanceof EngineError) throw known;
      if (typeof known === 'string') return { id: known, isNew: false };
      const id = await make();
      await note(tx, tenantId, [{ key, id }]);
      return { id, isNew: true };
    },

    /** Keys are kept as long as finished actions. */
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
