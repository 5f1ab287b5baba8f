import type { OrderType } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';
import { isUuid } from './uuid.ts';
import type { OrderRow } from './wire.ts';

/** Statements about orders. What waits and what is processed they ask the engine's views. */
export type OrderQueries = ReturnType<typeof createOrderQueries>;

/** Where a list goes on: behind the order of this number, in this group of section 2 of the seed (1 to 4). */
export interface Place {
  readonly group: number;
  readonly number: string;
}

export interface NewNumber {
  readonly number: string;
  readonly id: string;
  readonly at: Date;
}

export type ProcessedOrder = Pick<OrderRow, 'order_id' | 'action_id'> & { attempt: number; leased_at: Date };

export function createOrderQueries(s: string, now: () => Date, seconds: number) {
  const NOW = '$1::timestamptz';
  /** Of an order `o`: its lease, if a bot has it. */
  const lease = `
    left join lateral (
      select u.lane_id from ${s}.unfinished_actions u
      where o.completed_at is null and o.deleted_at is null and u.tenant_id = o.tenant_id and u.action_id = o.action_id limit 1
    ) u on true
    left join lateral (
      select l.worker, l.attempt, l.leased_at, least(l.leased_at + interval '${seconds} s', l.lease_until) as ends_at from ${s}.lane_leases l
      where l.tenant_id = o.tenant_id and l.lane_id = u.lane_id and l.action_id = o.action_id limit 1
    ) l on true`;
  const columns = 'o.*, l.worker, l.attempt, l.leased_at, l.ends_at';

  /** One group of the list; `$2` the tenant, `$3` and `$4` the place behind which it goes on, `$5` how many. */
  const group = (n: number, order: 'asc' | 'desc', from: string, where: string) => `(
      select ${n} as list_group, ${order === 'asc' ? '' : '-'}o.order_number as list_place, ${columns}
      from ${from} ${lease}
      where o.tenant_id = $2 and o.deleted_at is null and ${where}
        and ($3::int < ${n} or ($3::int = ${n} and o.order_number ${order === 'asc' ? '>' : '<'} $4::bigint))
      order by o.order_number ${order} limit $5)`;
  const waiting = (n: number, type: OrderType) =>
    group(
      n,
      'asc',
      `${s}.orders o`,
      `o.type = '${type}' and o.completed_at is null and ${s}.sought_by(o.order_number) and l.leased_at is null`,
    );
  // found by the bots: there are not many
  const processing = group(
    3,
    'desc',
    `(select b.tenant_id, h.action_id from ${s}.bots b
        cross join lateral (select h.action_id from ${s}.lane_leases h where h.tenant_id = b.tenant_id and h.lane_id = b.lane_id limit 1) h
        where b.tenant_id = $2 and b.deleted_at is null and ${s}.sought_by(b.bot_number)) h
      cross join lateral (
        select * from ${s}.orders o where o.tenant_id = h.tenant_id and o.action_id = h.action_id and ${s}.sought_by(o.action_id) limit 1
      ) o`,
    'o.completed_at is null',
  );
  const complete = group(
    4,
    'desc',
    `${s}.orders o`,
    `o.completed_at is not null and ${s}.sought_by(o.order_number)`,
  );

  return {
    /** The next numbers of the tenant, ids, and the time that goes with them; whoever comes next waits for the commit. */
    async nextNumbers(client: Queryable, tenantId: number, many: number): Promise<NewNumber[]> {
      const { rows } = await client.query({
        name: 'muster_next_order_numbers',
        text: `with n as (
            insert into ${s}.order_numbers as n (tenant_id, last_number, last_at) values ($2, $3, ${NOW})
            on conflict (tenant_id) do update set last_number = n.last_number + excluded.last_number, last_at = greatest(n.last_at, ${NOW})
            returning n.last_number, n.last_at
          ) select n.last_number - $3 + i as number, n.last_at as at, ${s}.uuid_v7(n.last_at) as id from n, generate_series(1, $3::int) i order by i`,
        values: [now(), tenantId, many],
      });
      return rows;
    },

    /** No number is taken, so no order comes, until the end of the transaction. */
    async stopNumbers(client: Queryable, tenantId: number): Promise<void> {
      await client.query({
        text: `select 1 from ${s}.order_numbers where tenant_id = $1 for update`,
        values: [tenantId],
      });
    },

    /** Nobody has them yet. */
    async insert(
      client: Queryable,
      tenantId: number,
      given: readonly (NewNumber & { type: OrderType; userId: string | null; actionId: string })[],
    ): Promise<OrderRow[]> {
      const { rows } = await client.query({
        name: 'muster_insert_orders',
        text: `insert into ${s}.orders (created_at, updated_at, tenant_id, order_id, order_number, type, user_id, action_id, place)
          select i.at, i.at, $1, i.id, i.number, i.type, i.user_id, i.action_id, i.action_id
          from unnest((select $2::timestamptz[]), (select $3::uuid[]), (select $4::bigint[]), (select $5::text[]), (select $6::uuid[]),
            (select $7::bigint[])) i(at, id, number, type, user_id, action_id)
          order by i.number
          returning *, null as worker, null as attempt, null as leased_at, null as ends_at`,
        values: [
          tenantId,
          given.map(({ at }) => at),
          given.map(({ id }) => id),
          given.map(({ number }) => number),
          given.map(({ type }) => type),
          given.map(({ userId }) => userId),
          given.map(({ actionId }) => actionId),
        ],
      });
      return rows;
    },

    async get(client: Queryable, tenantId: number, id: string): Promise<OrderRow | null> {
      if (!isUuid(id)) return null;
      const { rows } = await client.query({
        name: 'muster_get_order',
        text: `select ${columns} from ${s}.orders o ${lease} where o.tenant_id = $1 and o.order_id = $2`,
        values: [tenantId, id],
      });
      return rows[0] ?? null;
    },

    async ofNumber(client: Queryable, tenantId: number, number: string): Promise<OrderRow | null> {
      const { rows } = await client.query({
        name: 'muster_order_of_number',
        text: `select ${columns} from ${s}.orders o ${lease}
          where o.tenant_id = $1 and o.order_number = $2 and ${s}.sought_by(o.order_number)`,
        values: [tenantId, number],
      });
      return rows[0] ?? null;
    },

    async ofAction(client: Queryable, tenantId: number, actionId: string): Promise<OrderRow | null> {
      const { rows } = await client.query({
        name: 'muster_order_of_action',
        text: `select ${columns} from ${s}.orders o ${lease}
          where o.tenant_id = $1 and o.action_id = $2 and ${s}.sought_by(o.action_id)`,
        values: [tenantId, actionId],
      });
      return rows[0] ?? null;
    },

    /** One change of it at a time. */
    async lock(client: Queryable, tenantId: number, id: string): Promise<boolean> {
      if (!isUuid(id)) return false;
      const { rows } = await client.query({
        name: 'muster_lock_order',
        text: `select 1 from ${s}.orders where tenant_id = $1 and order_id = $2 for no key update`,
        values: [tenantId, id],
      });
      return rows.length > 0;
    },

    /** All that a bot has now. */
    async processing(client: Queryable, tenantId: number): Promise<ProcessedOrder[]> {
      const { rows } = await client.query({
        text: `select o.order_id, o.action_id, l.attempt, l.leased_at from ${s}.bots b
          cross join lateral (select * from ${s}.lane_leases l where l.tenant_id = b.tenant_id and l.lane_id = b.lane_id limit 1) l
          cross join lateral (
            select * from ${s}.orders o where o.tenant_id = b.tenant_id and o.action_id = l.action_id and ${s}.sought_by(o.action_id) limit 1
          ) o
          where b.tenant_id = $1 and b.deleted_at is null and ${s}.sought_by(b.bot_number)`,
        values: [tenantId],
      });
      return rows;
    },

    async markDeleted(client: Queryable, tenantId: number, id: string): Promise<void> {
      await client.query({
        text: `update ${s}.orders set deleted_at = ${NOW}, updated_at = ${NOW}
          where tenant_id = $2 and order_id = $3 and deleted_at is null`,
        values: [now(), tenantId, id],
      });
    },

    async restore(client: Queryable, tenantId: number, id: string, actionId: string): Promise<void> {
      await client.query({
        text: `update ${s}.orders set deleted_at = null, updated_at = ${NOW}, action_id = $4 where tenant_id = $2 and order_id = $3`,
        values: [now(), tenantId, id, actionId],
      });
    },

    /** Those that are left, i.e. complete; how many. */
    async markAllDeleted(client: Queryable, tenantId: number): Promise<number> {
      const { rows } = await client.query({
        text: `with d as (
            update ${s}.orders set deleted_at = ${NOW}, updated_at = ${NOW} where tenant_id = $2 and deleted_at is null returning 1
          ) select count(*)::int as many from d`,
        values: [now(), tenantId],
      });
      return rows[0].many;
    },

    async list(client: Queryable, tenantId: number, after: Place | null, limit: number) {
      const { rows } = await client.query({
        name: 'muster_list_orders',
        text: `select * from (${[waiting(1, 'VIP'), waiting(2, 'NORMAL'), processing, complete].join(' union all ')}) x
          where ${NOW} is not null order by x.list_group, x.list_place limit $5`,
        values: [now(), tenantId, after?.group ?? 0, after?.number ?? '0', limit],
      });
      return rows as (OrderRow & { list_group: number })[];
    },
  };
}
