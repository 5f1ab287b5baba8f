import type { Queryable } from '@muster/engine';
import type { WebhookKey } from './queries.ts';

/** How far the feed was read for all webhooks that are not behind. */
export interface Place {
  readonly cursor: string;
  readonly readAt: Date;
  readonly version: string;
}

export type PlaceQueries = ReturnType<typeof createPlaceQueries>;

/**
 * Places in the feed: the one of all, and those of webhooks that are behind. Whoever reads on or changes a webhook holds the first, so
 * each change lies between two pages. Nobody who holds a webhook's row waits for it.
 */
export function createPlaceQueries(s: string, now: () => Date) {
  const PLACE = 'cursor, read_at as "readAt", version';
  const OF = 'tenant_id = $1 and webhook_id = $2';

  return {
    /** Null: there is none yet, or somebody else reads on. */
    async tryLock(client: Queryable): Promise<Place | null> {
      const { rows } = await client.query({
        name: 'muster_webhook_place',
        text: `select ${PLACE} from ${s}.webhook_feed for update skip locked`,
      });
      return rows[0] ?? null;
    },

    /** Waits for whoever has it; made on first use. */
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

    /** Those who remember the webhooks read them again. */
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

    /** One that has to catch up; `after`: behind this one in their order, if there is any. */
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

    /** Only from where it was; null: it is where the others are. False: somebody else was faster, or it was paused. */
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
     * The database is another one, so cursors mean nothing in it: everybody reads from the start again, and is sent nothing that is much
     * older than what was read last. What is sent twice then has the same id as before.
     */
    async beginAnew(client: Queryable, { readAt }: Place, start: string): Promise<void> {
      await client.query({
        text: `with w as (
            update ${s}.webhooks set from_at = greatest(from_at, coalesce(cursor_at, $2::timestamptz) - interval '10 minutes'),
              cursor = case when cursor is not null then $1 end
          )
          update ${s}.webhook_feed set cursor = $1, read_at = $3, version = version + 1`,
        values: [start, readAt, now()],
      });
    },
  };
}
