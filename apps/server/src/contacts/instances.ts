import type { Queryable } from '@muster/engine';

/** The clients of a target as they are stored: the newest ten of each. */
export interface InstanceContact {
  readonly tenantId: number;
  readonly channel: string;
  readonly targetId: string;
  readonly id: string;
  readonly version: string | null;
  readonly at: Date;
}

export interface KnownInstance {
  readonly id: string;
  readonly version: string | null;
  readonly lastSeenAt: Date;
}

const MOST_PER_TARGET = 10;

export function createInstanceQueries(s: string) {
  return {
    /** Returns the targets that have others beside the stored one. */
    async store(
      client: Queryable,
      contacts: readonly InstanceContact[],
    ): Promise<{ tenantId: number; channel: string; targetId: string }[]> {
      const { rows } = await client.query({
        name: 'muster_store_instances',
        text: `with i as materialized (
            select * from unnest((select $1::int[]), (select $2::text[]), (select $3::bigint[]), (select $4::text[]), (select $5::text[]), (select $6::timestamptz[]))
              i(tenant_id, channel, target_id, instance_id, version, seen_at)
            -- not those of a former life
            where i.seen_at > coalesce((select k.forgotten_at from ${s}.contacts k
              where k.tenant_id = i.tenant_id and k.channel = i.channel and k.target_id = i.target_id), '-infinity')
          ), u as (
            insert into ${s}.instances as k (tenant_id, channel, target_id, instance_id, version, seen_at) select * from i
            on conflict (tenant_id, channel, target_id, instance_id) do update set version = excluded.version, seen_at = excluded.seen_at
              where k.seen_at < excluded.seen_at
          )
          select i.tenant_id, i.channel, i.target_id from i where (
            select 1 from ${s}.instances x where x.tenant_id = i.tenant_id and x.channel = i.channel and x.target_id = i.target_id
              and x.instance_id <> i.instance_id limit 1) is not null`,
        values: [
          contacts.map((one) => one.tenantId),
          contacts.map((one) => one.channel),
          contacts.map((one) => one.targetId),
          contacts.map((one) => one.id),
          contacts.map((one) => one.version),
          contacts.map((one) => one.at),
        ],
      });
      const crowded = rows.map((row) => ({
        tenantId: row.tenant_id,
        channel: row.channel,
        targetId: row.target_id,
      }));
      if (crowded.length > 0) await forgetOldest(client, crowded);
      return crowded;
    },

    /** The newest first. */
    async list(
      client: Queryable,
      of: { tenantId: number; channel: string; targetId: string },
    ): Promise<KnownInstance[]> {
      const { rows } = await client.query({
        text: `select instance_id, version, seen_at from ${s}.instances where tenant_id = $1 and channel = $2 and target_id = $3
          order by seen_at desc, instance_id limit ${MOST_PER_TARGET}`,
        values: [of.tenantId, of.channel, of.targetId],
      });
      return rows.map((row) => ({ id: row.instance_id, version: row.version, lastSeenAt: row.seen_at }));
    },

    async forget(
      client: Queryable,
      of: { tenantId: number; channel: string; targetId: string },
    ): Promise<void> {
      await client.query({
        text: `delete from ${s}.instances where tenant_id = $1 and channel = $2 and target_id = $3`,
        values: [of.tenantId, of.channel, of.targetId],
      });
    },
  };

  async function forgetOldest(
    client: Queryable,
    targets: readonly { tenantId: number; channel: string; targetId: string }[],
  ): Promise<void> {
    await client.query({
      name: 'muster_forget_instances',
      text: `delete from ${s}.instances k using (
          select distinct x.* from unnest((select $1::int[]), (select $2::text[]), (select $3::bigint[])) i(tenant_id, channel, target_id)
          cross join lateral (
            select x.tenant_id, x.channel, x.target_id, x.instance_id from ${s}.instances x
            where x.tenant_id = i.tenant_id and x.channel = i.channel and x.target_id = i.target_id
            order by x.seen_at desc, x.instance_id offset ${MOST_PER_TARGET}
          ) x
        ) x where k.tenant_id = any(array[x.tenant_id]) and k.channel = x.channel and k.target_id = x.target_id and k.instance_id = x.instance_id`,
      values: [
        targets.map((one) => one.tenantId),
        targets.map((one) => one.channel),
        targets.map((one) => one.targetId),
      ],
    });
  }
}
