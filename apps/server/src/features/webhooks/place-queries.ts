import type { Queryable } from '@muster/engine';
import type { WebhookKey } from './queries.ts';

/** How far the feed was read for all webhooks that are not behind. */
export interface Place {
  readonly cursor: string;
  readonly readAt: Date;
  readonly version: string;
}

/** Without the time zone of the session, which a distributed database does not allow in an update. */
const TEN_MINUTES_BEFORE = (at: string) =>
  `(((${at}) at time zone 'UTC') - interval '10 minutes') at time zone 'UTC'`;

export type PlaceQueries = ReturnType<typeof createPlaceQueries>;

/**
 * Places in the feed: one shared place, and those of webhooks that are behind. Reading on, and changing a webhook,
 * holds the shared place, so each change lies between two pages. A transaction that holds a webhook's row never waits
 * for it.
 */
export function createPlaceQueries(s: string, now: () => Date) {
  const PLACE = 'cursor, read_at as "readAt", version';
  const OF = 'tenant_id = $1 and webhook_id = $2';

  return {
    /** Null: there is none yet, or another transaction is reading. */
    async tryLock(client: Queryable): Promise<Place | null> {
      const { rows } = await client.query({
        name: 'muster_webhook_place',
        text: `select ${PLACE} from ${s}.webhook_feed for update skip locked`,
      });
      return rows[0] ?? null;
    },

    /** Waits for the holder; made on first use. */
    async lock(client: Queryable, end: () => Promise<string>): Promise<Place> {
      const find = { text: `select ${PLACE} from ${s}.webhook_feed for update` };
      const [known] = (await client.query(find)).rows;
      if (known) return known;
      await client.query({
        text: `insert into ${s}.webhook_feed (cursor, read_at, version) values ($1, $2, 0) on conflict do nothing`,
        values: [await end(), now()],
      });
      return (await client.query(find)).rows[0];
    },

    async version(client: Queryable): Promise<string | null> {
      const { rows } = await client.query({
        name: 'muster_webhook_version',
        text: `select version from ${s}.webhook_feed`,
      });
      return rows[0]?.version ?? null;
    },

    /** Makes every node that caches the webhooks read them again. */
    async change(client: Queryable): Promise<void> {
      await client.query({ text: `update ${s}.webhook_feed set version = version + 1` });
    },

    async move(client: Queryable, cursor: string): Promise<void> {
      await client.query({
        name: 'muster_webhook_place_on',
        text: `update ${s}.webhook_feed set cursor = $1, read_at = $2`,
        values: [cursor, now()],
      });
    },

    /** A webhook that has to catch up: the next one after `after`, else the first. */
    async behind(
      client: Queryable,
      after: WebhookKey | null,
    ): Promise<(WebhookKey & { cursor: string }) | null> {
      const { rows } = await client.query({
        name: 'muster_webhook_behind',
        text: `select tenant_id as "tenantId", webhook_id as "webhookId", cursor from ${s}.webhooks
          where cursor is not null and paused_at is null
          order by (tenant_id, webhook_id) <= ($1::int, $2::bigint), tenant_id, webhook_id limit 1`,
        values: [after?.tenantId ?? 0, after?.webhookId ?? '0'],
      });
      return rows[0] ?? null;
    },

    /**
     * Moves only from its old place; null: it has caught up with the others. False: another node was faster, or it was
     * paused.
     */
    async moveBehind(
      client: Queryable,
      { cursor: from, tenantId, webhookId }: WebhookKey & { cursor: string },
      to: { cursor: string; at: Date | null } | null,
    ): Promise<boolean> {
      const { rows } = await client.query({
        name: 'muster_webhook_behind_on',
        text: `update ${s}.webhooks set cursor = $4, cursor_at = case when $4::text is null then null else coalesce($5::timestamptz, cursor_at) end
          where ${OF} and cursor = $3 and paused_at is null returning 1`,
        values: [tenantId, webhookId, from, to?.cursor ?? null, to?.at ?? null],
      });
      return rows.length > 0;
    },

    /**
     * The database is a different one, in which the cursors mean nothing: all webhooks read from the start again, and
     * are not sent events much older than the last one read. An event sent twice has the same id.
     */
    async beginAnew(client: Queryable, { readAt }: Place, start: string): Promise<void> {
      await client.query({
        text: `with w as (
            update ${s}.webhooks set from_at = greatest(from_at, ${TEN_MINUTES_BEFORE('coalesce(cursor_at, $2::timestamptz)')}),
              cursor = case when cursor is not null then $1 end
          )
          update ${s}.webhook_feed set cursor = $1, read_at = $3, version = version + 1`,
        values: [start, readAt, now()],
      });
    },
  };
}
