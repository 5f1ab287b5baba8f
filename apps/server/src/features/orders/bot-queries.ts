import type { Bot } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import { endsAt } from './order-queries.ts';
import { isUuid } from './uuid.ts';
import type { BotRow } from './wire.ts';

/** Statements about bots. What a bot holds is the lease of its lane. */
export type BotQueries = ReturnType<typeof createBotQueries>;

export interface BotListing {
  readonly after: string;
  readonly deleted: boolean;
  readonly limit: number;
  readonly status?: Bot['status'] | undefined;
}

export function createBotQueries(s: string, now: () => Date, seconds: number) {
  const NOW = '$1::timestamptz';
  const select = `
    select b.*, l.action_id, l.attempt, l.leased_at, l.ends_at, o.order_id, o.order_number from ${s}.bots b
    left join lateral (
      select l.action_id, l.attempt, l.leased_at, ${endsAt('l', seconds)} as ends_at from ${s}.lane_leases l where l.tenant_id = b.tenant_id and l.lane_id = b.lane_id limit 1
    ) l on true
    left join lateral (
      select o.order_id, o.order_number from ${s}.orders o where o.tenant_id = b.tenant_id and o.action_id = l.action_id and ${s}.sought_by(o.action_id) limit 1
    ) o on true`;

  async function get(client: Queryable, tenantId: number, id: string): Promise<BotRow | null> {
    if (!isUuid(id)) return null;
    const { rows } = await client.query({
      name: 'muster_get_bot',
      text: `${select} where b.tenant_id = $1 and b.bot_id = $2`,
      values: [tenantId, id],
    });
    return rows[0] ?? null;
  }

  return {
    get,

    /** Bots have numbers and no names. */
    async namesOf(client: Queryable, tenantId: number, ids: readonly string[]): Promise<Map<string, string>> {
      const { rows } = await client.query({
        name: 'muster_names_of_bots',
        text: `select b.bot_id, b.bot_number from unnest((select $2::uuid[])) i(bot_id)
          cross join lateral (
            select * from ${s}.bots b where b.tenant_id = $1 and b.bot_id = i.bot_id limit 1
          ) b`,
        values: [tenantId, ids.filter(isUuid)],
      });
      return new Map(rows.map((row) => [row.bot_id, `bot ${row.bot_number}`]));
    },

    async newId(client: Queryable): Promise<string> {
      const { rows } = await client.query({ text: `select ${s}.uuid_v7(${NOW}) as id`, values: [now()] });
      return rows[0].id;
    },

    async insert(
      client: Queryable,
      given: { tenantId: number; id: string; laneId: string },
    ): Promise<string> {
      const { rows } = await client.query({
        text: `insert into ${s}.bots (created_at, updated_at, tenant_id, bot_id, lane_id) values (${NOW}, ${NOW}, $2, $3, $4) returning bot_number`,
        values: [now(), given.tenantId, given.id, given.laneId],
      });
      return rows[0].bot_number;
    },

    /** Locks a bot and reads it. */
    async lock(client: Queryable, tenantId: number, id: string): Promise<BotRow | null> {
      if (!isUuid(id)) return null;
      await client.query({
        name: 'muster_lock_bot',
        text: `select 1 from ${s}.bots where tenant_id = $1 and bot_id = $2 for no key update`,
        values: [tenantId, id],
      });
      return get(client, tenantId, id);
    },

    /** Skipped if another transaction is changing the bot: that one writes the time itself. */
    async touch(client: Queryable, tenantId: number, id: string): Promise<void> {
      if (!isUuid(id)) return;
      await client.query({
        text: `update ${s}.bots b set updated_at = greatest(b.updated_at, ${NOW}) where b.tenant_id = $2 and b.bot_id = (
          select i.bot_id from ${s}.bots i where i.tenant_id = $2 and i.bot_id = $3 for no key update skip locked)`,
        values: [now(), tenantId, id],
      });
    },

    async setDeleted(client: Queryable, tenantId: number, id: string, deleted: boolean): Promise<void> {
      await client.query({
        text: `update ${s}.bots set deleted_at = case when $4::boolean then ${NOW} end, updated_at = ${NOW}
          where tenant_id = $2 and bot_id = $3`,
        values: [now(), tenantId, id, deleted],
      });
    },

    async list(
      client: Queryable,
      tenantId: number,
      { after, deleted, limit, status }: BotListing,
    ): Promise<BotRow[]> {
      // only its lease tells which status it has
      const held = status && `l.action_id is ${status === 'IDLE' ? 'null' : 'not null'}`;
      const { rows } = await client.query({
        name: `muster_list_${deleted ? 'deleted_' : ''}bots${status ? `_${status}` : ''}`,
        text: `${select} where b.tenant_id = $1 and b.deleted_at is ${deleted ? 'not null' : 'null'} and b.bot_number > $2::bigint and ${s}.sought_by(b.bot_number)
            ${held ? `and ${held}` : ''}
          order by b.bot_number limit $3`,
        values: [tenantId, after, limit],
      });
      return rows;
    },
  };
}
