import type { WebhookFilter, WebhookPatch } from '@muster/contracts';
import type { Queryable } from '@muster/engine';

export interface WebhookRow {
  readonly tenantId: number;
  readonly webhookId: string;
  readonly name: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: WebhookFilter;
  readonly secret: Buffer;
  readonly formerSecret: Buffer | null;
  readonly formerUntil: Date | null;
  readonly runnerId: string;
  readonly laneIds: readonly string[];
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly pausedAt: Date | null;
  readonly pausedBy: 'operator' | 'failures' | null;
  readonly pausedReason: string | null;
  readonly fromAt: Date;
  readonly cursor: string | null;
  readonly cursorAt: Date | null;
}

export interface Health {
  readonly delivered: number;
  readonly givenUp: number;
  readonly failingSince: Date | null;
  readonly lastAt: Date | null;
  readonly lastAction: string | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

export type WebhookKey = Pick<WebhookRow, 'tenantId' | 'webhookId'>;
export type WebhookQueries = ReturnType<typeof createWebhookQueries>;

const COLUMNS = `w.tenant_id as "tenantId", w.webhook_id as "webhookId", w.name, w.url, w.events, w.filter, w.secret,
  w.former_secret as "formerSecret", w.former_until as "formerUntil", w.runner_id as "runnerId", w.lane_ids as "laneIds",
  w.created_at as "createdAt", w.created_by as "createdBy", w.paused_at as "pausedAt", w.paused_by as "pausedBy",
  w.paused_reason as "pausedReason", w.from_at as "fromAt", w.cursor, w.cursor_at as "cursorAt"`;
const HEALTH = `h.delivered::float8 as delivered, h.given_up::float8 as "givenUp", h.failing_since as "failingSince", h.last_at as "lastAt",
  h.last_action as "lastAction", h.last_status as "lastStatus", h.last_error as "lastError"`;

/** Webhooks as they are stored. Every change holds the shared place (place-queries.ts). */
export function createWebhookQueries(s: string, now: () => Date) {
  const withHealth = `select ${COLUMNS}, ${HEALTH} from ${s}.webhooks w
    join ${s}.webhook_health h on h.tenant_id = w.tenant_id and h.webhook_id = w.webhook_id`;
  const OF = 'tenant_id = $1 and webhook_id = $2';
  const LOADS = `from unnest((select $2::bigint[])) i(lane_id)
    cross join lateral (select * from ${s}.lane_loads l where l.tenant_id = $1 and l.lane_id = i.lane_id limit 1) l`;

  return {
    async newId(client: Queryable): Promise<string> {
      return (await client.query({ text: `select nextval('${s}.webhook_seq') as id` })).rows[0].id;
    },

    async insert(
      client: Queryable,
      given: Omit<WebhookRow, `paused${string}` | `former${string}` | 'createdAt' | 'fromAt' | 'cursorAt'>,
    ): Promise<void> {
      await client.query({
        text: `with h as (insert into ${s}.webhook_health (tenant_id, webhook_id) values ($2, $3))
          insert into ${s}.webhooks (created_at, from_at, tenant_id, webhook_id, name, url, events, filter, secret, runner_id, lane_ids, created_by, cursor, cursor_at)
          values ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, case when $12::text is not null then $1::timestamptz end)`,
        values: [
          ...[now(), given.tenantId, given.webhookId, given.name, given.url, given.events],
          ...[JSON.stringify(given.filter), given.secret, given.runnerId, given.laneIds, given.createdBy],
          given.cursor,
        ],
      });
    },

    async count(client: Queryable, tenantId: number): Promise<number> {
      const { rows } = await client.query({
        text: `select count(*)::int as n from ${s}.webhooks where tenant_id = $1`,
        values: [tenantId],
      });
      return rows[0].n;
    },

    /** Read with every delivery, so a change takes effect at once on every node. */
    async get(client: Queryable, { tenantId, webhookId }: WebhookKey): Promise<(WebhookRow & Health) | null> {
      const { rows } = await client.query({
        name: 'muster_webhook',
        text: `${withHealth} where w.tenant_id = $1 and w.webhook_id = $2`,
        values: [tenantId, webhookId],
      });
      return rows[0] ?? null;
    },

    /** Newest first. */
    async list(client: Queryable, tenantId: number, page: { before?: string | undefined; limit: number }) {
      const { rows } = await client.query({
        text: `${withHealth} where w.tenant_id = $1 and ($2::bigint is null or w.webhook_id < $2) order by w.webhook_id desc limit $3`,
        values: [tenantId, page.before ?? null, page.limit],
      });
      return rows as (WebhookRow & Health)[];
    },

    /** Those that are not paused, of all tenants. */
    async active(client: Queryable): Promise<WebhookRow[]> {
      const { rows } = await client.query({
        name: 'muster_active_webhooks',
        text: `select ${COLUMNS} from ${s}.webhooks w where w.paused_at is null order by w.tenant_id, w.webhook_id`,
      });
      return rows;
    },

    async update(client: Queryable, { tenantId, webhookId }: WebhookKey, to: WebhookPatch): Promise<void> {
      await client.query({
        text: `update ${s}.webhooks set url = coalesce($3, url), events = coalesce($4::text[], events),
            name = case when $5 then $6 else name end, filter = coalesce($7::jsonb, filter) where ${OF}`,
        values: [
          ...[tenantId, webhookId, to.url ?? null, to.events ?? null, to.name !== undefined, to.name ?? null],
          to.filter === undefined ? null : JSON.stringify(to.filter),
        ],
      });
    },

    async remove(client: Queryable, { tenantId, webhookId }: WebhookKey): Promise<void> {
      await client.query({
        text: `with h as (delete from ${s}.webhook_health where ${OF}) delete from ${s}.webhooks where ${OF}`,
        values: [tenantId, webhookId],
      });
    },

    /** How many deliveries wait in its lanes or are being sent. */
    async waiting(client: Queryable, { laneIds, tenantId }: WebhookRow): Promise<number> {
      const { rows } = await client.query({
        name: 'muster_webhook_waiting',
        text: `select coalesce(sum(l.queued + (l.leased_action is not null)::int), 0)::int as n ${LOADS}`,
        values: [tenantId, laneIds],
      });
      return rows[0].n;
    },

    /** Those of its lanes that hold something. */
    async lanesInUse(client: Queryable, { laneIds, tenantId }: WebhookRow): Promise<string[]> {
      const { rows } = await client.query({
        text: `select i.lane_id ${LOADS} where l.queued > 0 or l.leased_action is not null`,
        values: [tenantId, laneIds],
      });
      return rows.map((row) => row.lane_id);
    },

    /** Keeps its place: its own, or the shared one if it was not behind. False: it is already paused, or deleted. */
    async pause(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      pause: { by: 'operator' | 'failures'; reason: string; cursor: string; cursorAt: Date },
    ): Promise<boolean> {
      const { rows } = await client.query({
        text: `update ${s}.webhooks set paused_at = $3, paused_by = $4, paused_reason = $5,
            cursor_at = case when cursor is null then $7::timestamptz else cursor_at end, cursor = coalesce(cursor, $6)
          where ${OF} and paused_at is null returning 1`,
        values: [tenantId, webhookId, now(), pause.by, pause.reason, pause.cursor, pause.cursorAt],
      });
      return rows.length > 0;
    },

    /**
     * Continues from its own place, or from the given one. From a given one older events are skipped: they may lie
     * after it while an older transaction is open.
     */
    async resume(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      from: string | null,
    ): Promise<boolean> {
      const { rows } = await client.query({
        text: `with h as (update ${s}.webhook_health set failing_since = null where ${OF})
          update ${s}.webhooks set paused_at = null, paused_by = null, paused_reason = null, cursor = coalesce($4, cursor),
            cursor_at = case when $4::text is null then cursor_at else $3 end, from_at = case when $4::text is null then from_at else $3 end
          where ${OF} and paused_at is not null returning 1`,
        values: [tenantId, webhookId, now(), from],
      });
      return rows.length > 0;
    },

    async setSecret(client: Queryable, key: WebhookKey, secret: Buffer, formerUntil: Date): Promise<void> {
      await client.query({
        text: `update ${s}.webhooks set former_secret = secret, former_until = $4, secret = $3 where ${OF}`,
        values: [key.tenantId, key.webhookId, secret, formerUntil],
      });
    },

    /** Records the outcome of a try. */
    async noteTry(
      client: Queryable,
      { tenantId, webhookId }: WebhookKey,
      {
        actionId,
        error,
        givenUp,
        status,
      }: { actionId: string; error: string | null; givenUp: boolean; status: number | null },
    ): Promise<void> {
      await client.query({
        name: 'muster_webhook_try',
        text: `update ${s}.webhook_health set last_at = $3, last_action = $4, last_status = $5, last_error = $6,
            failing_since = case when $6::text is null then null else coalesce(failing_since, $3::timestamptz) end,
            delivered = delivered + ($6::text is null)::int, given_up = given_up + $7::boolean::int
          where ${OF}`,
        values: [tenantId, webhookId, now(), actionId, status, error, givenUp],
      });
    },
  };
}
