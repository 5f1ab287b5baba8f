import type { DeliveryState } from '@muster/contracts/words';
import type { Engine, Queryable } from '@muster/engine';
import type { WebhookKey } from './queries.ts';
import type { StoredDelivery } from './queueing.ts';

/** A delivery with the state of its action and its last try. */
export interface DeliveryRow {
  readonly actionId: string;
  readonly eventType: string;
  readonly eventId: string;
  readonly eventAt: Date;
  readonly subject: string | null;
  readonly createdAt: Date;
  readonly replayOf: string | null;
  readonly state: DeliveryState;
  readonly attempt: number;
  /** Null: pruned. */
  readonly payload: StoredDelivery | null;
  readonly lastAt: Date | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  readonly event?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** At most this many are looked at for a page, however few of them match the filter. */
const LOOKED_AT = 2_000;

/** In the words of this door; an action that the engine has pruned ended long ago. */
const STATE = `case a.state when 'pending' then 'waiting' when 'claimed' then 'sending' when 'succeeded' then 'delivered'
    when 'failed' then 'failed' when 'expired' then 'failed' when 'cancelled' then 'cancelled'
    else case when l.status between 200 and 299 then 'delivered' else 'failed' end end`;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The log of deliveries, and replays from it. */
export function createDeliveries({ schema: s }: Pick<Engine, 'schema'>) {
  const select = (
    looked: string,
  ) => `select d.action_id as "actionId", d.event_type as "eventType", d.event_id as "eventId", d.event_at as "eventAt",
      d.subject, d.created_at as "createdAt", d.replay_of as "replayOf", ${STATE} as state, coalesce(a.attempt, l.attempt, 0) as attempt,
      a.payload, l.at as "lastAt", l.status as "lastStatus", l.error as "lastError"
    from (${looked}) d
    left join lateral (
      select a.state, a.attempt, a.payload from ${s}.action_states a where a.tenant_id = d.tenant_id and a.action_id = d.action_id limit 1
    ) a on true
    left join lateral (
      select t.attempt, t.at, t.status, t.error from ${s}.webhook_tries t
      where t.tenant_id = d.tenant_id and t.action_id = d.action_id order by t.attempt desc limit 1
    ) l on true`;
  const OF_WEBHOOK = `d.tenant_id = $1 and d.webhook_id = $2 and ${s}.sought_by(d.webhook_id)`;

  return {
    async get(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      actionId: string,
    ): Promise<DeliveryRow | null> {
      const { rows } = await client.query({
        text: select(
          `select * from ${s}.webhook_deliveries d where d.tenant_id = $1 and d.webhook_id = $2 and d.action_id = $3`,
        ),
        values: [tenantId, webhookId, actionId],
      });
      return rows[0] ?? null;
    },

    /** Newest first, with the cursor after the last one looked at; null: no more. */
    async list(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      page: DeliveryFilter & { before?: string | undefined; limit: number },
    ): Promise<{ rows: DeliveryRow[]; cursor: string | null }> {
      const looked = Math.max(LOOKED_AT, page.limit + 1);
      const { rows } = await client.query({
        text: `with looked as materialized (
            select d.* from ${s}.webhook_deliveries d
            where ${OF_WEBHOOK} and ($3::bigint is null or d.action_id < $3) order by d.action_id desc limit ${looked}
          ), x as (${select('select * from looked')})
          select x.*, (select min(action_id) from looked) as looked_to, (select count(*) from looked)::int as looked_at from (select 1) one
          left join lateral (
            select x.* from x where ($4::text is null or x.state = $4) and ($5::text is null or x."eventType" = $5)
              and ($6::timestamptz is null or x."eventAt" >= $6) and ($7::timestamptz is null or x."eventAt" < $7)
            order by x."actionId" desc limit $8
          ) x on true order by x."actionId" desc`,
        values: [
          ...[tenantId, webhookId, page.before ?? null, page.state ?? null, page.event ?? null],
          ...[page.from ?? null, page.to ?? null, page.limit + 1],
        ],
      });
      const found = rows.filter((row) => row.actionId !== null);
      const shown = found.slice(0, page.limit);
      const cursor =
        found.length > page.limit
          ? (shown.at(-1)?.actionId as string)
          : rows[0].looked_at === looked
            ? (rows[0].looked_to as string)
            : null;
      return { rows: shown, cursor };
    },

    /** What to replay of a time range, oldest first; replays are not replayed. */
    async inRange(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      range: { from: string; to: string; failed: boolean; after: string | undefined; limit: number },
    ): Promise<{ rows: DeliveryRow[]; cursor: string | null }> {
      const { rows } = await client.query({
        text:
          select(`select d.* from ${s}.webhook_deliveries d
          where ${OF_WEBHOOK} and d.action_id > $3::bigint order by d.action_id limit ${LOOKED_AT}`) +
          ' order by d.action_id',
        values: [tenantId, webhookId, range.after ?? '0'],
      });
      const wanted = (rows as DeliveryRow[]).filter(
        ({ eventAt, replayOf, state }) =>
          replayOf === null &&
          eventAt >= new Date(range.from) &&
          eventAt < new Date(range.to) &&
          (range.failed ? state === 'failed' : state !== 'waiting' && state !== 'sending'),
      );
      const shown = wanted.slice(0, range.limit);
      const last =
        wanted.length > shown.length ? shown.at(-1) : rows.length === LOOKED_AT ? rows.at(-1) : null;
      return { rows: shown, cursor: last?.actionId ?? null };
    },
  };
}
