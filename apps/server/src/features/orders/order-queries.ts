import type { OrderStatus, OrderType } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';
import { isUuid } from './uuid.ts';
import type { OrderRow } from './wire.ts';

/** Statements about orders. They read the engine's views for what waits and what is processed. */
/** When a bot is done with its order: after its processing time, or at the end of its lease if that comes first. */
export const endsAt = (l: string, seconds: number) =>
  `least(${l}.leased_at + interval '${seconds} s', ${l}.lease_until)`;

export type OrderQueries = ReturnType<typeof createOrderQueries>;

/** Where a list continues: after the order with this number, in this group of the list (1 to 4). */
export interface Place {
  readonly group: number;
  readonly number: string;
}

export interface Listing {
  readonly after: Place | null;
  readonly deleted: boolean;
  readonly limit: number;
  /** All statuses unless given. */
  readonly status?: OrderStatus | undefined;
}

export interface NewNumber {
  readonly number: string;
  readonly id: string;
  readonly at: Date;
}

/** Larger than any order number. */
const MOST = '9223372036854775807';

export type ProcessedOrder = Pick<OrderRow, 'order_id' | 'action_id'> & { attempt: number; leased_at: Date };

export function createOrderQueries(s: string, now: () => Date, seconds: number) {
  const NOW = '$1::timestamptz';
  /** The lease of an order `o`, if a bot has it. */
  const lease = `
    left join lateral (
      select u.lane_id from ${s}.unfinished_actions u
      where o.completed_at is null and o.deleted_at is null and u.tenant_id = o.tenant_id and u.action_id = o.action_id limit 1
    ) u on true
    left join lateral (
      select l.worker, l.attempt, l.leased_at, ${endsAt('l', seconds)} as ends_at from ${s}.lane_leases l
      where l.tenant_id = o.tenant_id and l.lane_id = u.lane_id and l.action_id = o.action_id limit 1
    ) l on true`;
  const columns = 'o.*, l.worker, l.attempt, l.leased_at, l.ends_at';

  // one bound, not "a later group, or this one after the number": that would read and discard every row before the
  // place
  const behind = (n: number, order: 'asc' | 'desc') => {
    const [all, none] = order === 'asc' ? ['0', MOST] : [MOST, '0'];
    return `case when $3::int < ${n} then ${all} when $3::int = ${n} then $4::bigint else ${none} end`;
  };
  /** One group of the list; `$2` the tenant, `$3` and `$4` the place it continues after, `$5` how many. */
  const group = (n: number, order: 'asc' | 'desc', from: string, where: string) => `(
      select ${n} as list_group, ${order === 'asc' ? '' : '-'}o.order_number as list_place, ${columns}
      from ${from} ${lease}
      where o.tenant_id = $2 and ${where}
        and o.order_number ${order === 'asc' ? '>' : '<'} ${behind(n, order)}
      order by o.order_number ${order} limit $5)`;
  const isThere = 'o.deleted_at is null';
  const isDeleted = 'o.deleted_at is not null';
  const waiting = (n: number, type: OrderType, which: string) =>
    group(
      n,
      'asc',
      `${s}.orders o`,
      `o.type = '${type}' and o.completed_at is null and ${which} and ${s}.sought_by(o.order_number) and l.leased_at is null`,
    );
  // found through the bots, which are few
  const processing = group(
    3,
    'desc',
    `(select b.tenant_id, h.action_id from ${s}.bots b
        cross join lateral (select h.action_id from ${s}.lane_leases h where h.tenant_id = b.tenant_id and h.lane_id = b.lane_id limit 1) h
        where b.tenant_id = $2 and b.deleted_at is null and ${s}.sought_by(b.bot_number)) h
      cross join lateral (
        select * from ${s}.orders o where o.tenant_id = h.tenant_id and o.action_id = h.action_id and ${s}.sought_by(o.action_id) limit 1
      ) o`,
    `o.completed_at is null and ${isThere}`,
  );
  const complete = (which: string) =>
    group(
      4,
      'desc',
      `${s}.orders o`,
      `o.completed_at is not null and ${which} and ${s}.sought_by(o.order_number)`,
    );
  const groupsOf = (which: string) => ({
    PENDING: [waiting(1, 'VIP', which), waiting(2, 'NORMAL', which)],
    PROCESSING: which === isThere ? [processing] : [],
    COMPLETE: [complete(which)],
  });
  const listed = { there: groupsOf(isThere), deleted: groupsOf(isDeleted) };

  const oneBy =
    (name: string, key: string) =>
    async (client: Queryable, tenantId: number, value: string): Promise<OrderRow | null> => {
      const text = `select ${columns} from ${s}.orders o ${lease} where o.tenant_id = $1 and ${key}`;
      const { rows } = await client.query({ name, text, values: [tenantId, value] });
      return rows[0] ?? null;
    };
  const ofId = oneBy('muster_get_order', 'o.order_id = $2');

  return {
    /** The next numbers of the tenant, with ids and their time. The next caller waits for the commit. */
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

    /** Until the transaction ends, no number is taken and so no order is created. */
    async stopNumbers(client: Queryable, tenantId: number): Promise<void> {
      await client.query({
        text: `select 1 from ${s}.order_numbers where tenant_id = $1 for update`,
        values: [tenantId],
      });
    },

    /** They are not assigned to a bot. */
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
      return isUuid(id) ? ofId(client, tenantId, id) : null;
    },
    ofNumber: oneBy('muster_order_of_number', `o.order_number = $2 and ${s}.sought_by(o.order_number)`),
    ofAction: oneBy('muster_order_of_action', `o.action_id = $2 and ${s}.sought_by(o.action_id)`),

    /** Locks the order. */
    async lock(client: Queryable, tenantId: number, id: string): Promise<boolean> {
      if (!isUuid(id)) return false;
      const { rows } = await client.query({
        name: 'muster_lock_order',
        text: `select 1 from ${s}.orders where tenant_id = $1 and order_id = $2 for no key update`,
        values: [tenantId, id],
      });
      return rows.length > 0;
    },

    /** All orders that bots have now. */
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

    /** Those of these actions that bots still have. */
    async stillProcessed(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<ProcessedOrder[]> {
      const { rows } = await client.query({
        name: 'muster_orders_still_processed',
        text: `select o.order_id, i.action_id, a.attempt, a.leased_at from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select * from ${s}.action_states a where a.tenant_id = $1 and a.action_id = i.action_id and a.state = 'claimed' limit 1
          ) a
          cross join lateral (
            select * from ${s}.orders o where o.tenant_id = $1 and o.action_id = i.action_id and ${s}.sought_by(o.action_id) limit 1
          ) o`,
        values: [tenantId, actionIds],
      });
      return rows;
    },

    /**
     * Skipped if another transaction is changing the order: that one writes the time itself. A transaction that holds a
     * lane never waits for the lock of an order.
     */
    async touch(client: Queryable, tenantId: number, id: string): Promise<void> {
      await client.query({
        text: `update ${s}.orders o set updated_at = greatest(o.updated_at, ${NOW}) where o.tenant_id = $2 and o.order_id = (
          select i.order_id from ${s}.orders i where i.tenant_id = $2 and i.order_id = $3 for no key update skip locked)`,
        values: [now(), tenantId, id],
      });
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

    /** Marks those that are left, all complete. Returns how many. */
    async markAllDeleted(client: Queryable, tenantId: number): Promise<number> {
      const { rows } = await client.query({
        text: `with d as (
            update ${s}.orders set deleted_at = ${NOW}, updated_at = ${NOW} where tenant_id = $2 and deleted_at is null returning 1
          ) select count(*)::int as many from d`,
        values: [now(), tenantId],
      });
      return rows[0].many;
    },

    /** Deleted ones come in the same order; no bot has any of them. */
    async list(client: Queryable, tenantId: number, { after, deleted, limit, status }: Listing) {
      const which = deleted ? 'deleted' : 'there';
      const groups = status ? listed[which][status] : Object.values(listed[which]).flat();
      if (groups.length === 0) return [];
      const { rows } = await client.query({
        name: `${deleted ? 'muster_list_deleted_orders' : 'muster_list_orders'}${status ? `_${status}` : ''}`,
        text: `select * from (${groups.join(' union all ')}) x
          where ${NOW} is not null order by x.list_group, x.list_place limit $5`,
        values: [now(), tenantId, after?.group ?? 0, after?.number ?? '0', limit],
      });
      return rows as (OrderRow & { list_group: number })[];
    },
  };
}
