import type { Queryable } from '@muster/engine';
import type { ChannelContacts, LastContacts } from '../contacts/contacts.ts';
import { contained } from '../searching/contained.ts';
import { days, unfinishedDays } from './milestones.ts';

/** The rows of devices. Their queues are read from the engine. */
export interface DeviceRow {
  readonly tenantId: number;
  readonly deviceId: string;
  readonly laneId: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly tags: readonly string[];
  readonly state: 'ok' | 'error';
  readonly stateReason: string | null;
  readonly expiresAt: Date | null;
  readonly projectedExpiresAt: Date | null;
  readonly pcId: string | null;
  /** Its PC reported it absent. */
  readonly absentSince: Date | null;
  readonly ack: 'onReport' | 'onDelivery';
  readonly createdAt: Date;
  readonly seenAt: Date | null;
}

export interface NewDevice {
  readonly deviceId: string;
  readonly laneId: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly tags: readonly string[];
  readonly expiresAt: Date | null;
  readonly pcId: string | null;
  readonly ack: 'onReport' | 'onDelivery';
}

/** The changed fields; undefined ones stay. */
export interface DeviceChange {
  readonly name?: string | undefined;
  readonly externalId?: string | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly pcId?: string | null | undefined;
  readonly ack?: 'onReport' | 'onDelivery' | undefined;
}

/** What an import needs to know of an existing device. */
export interface KnownDevice {
  readonly name: string;
  readonly deviceId: string;
  readonly laneId: string;
  readonly expiresAt: Date | null;
  readonly pcId: string | null;
}

export interface DeviceFilter {
  readonly tenantId: number;
  readonly text?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly state?: 'ok' | 'error' | undefined;
  readonly online?: boolean | undefined;
  readonly pcId?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

const select = (s: string, heard: LastContacts) => `
  select d.tenant_id, d.device_id, d.lane_id, d.name, d.external_id, d.tags, d.state, d.state_reason, d.expires_at, d.pc_id, d.absent_since, d.ack,
    d.created_at, ${heard.seenAt('d.tenant_id', 'd.device_id')} as seen_at, d.expires_at + ${days(unfinishedDays(s, 'd'))} as projected_expires_at
  from ${s}.devices d
  where d.tenant_id = $1 and d.deleted_at is null`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
function device(row: any): DeviceRow {
  return {
    tenantId: row.tenant_id,
    deviceId: row.device_id,
    laneId: row.lane_id,
    name: row.name,
    externalId: row.external_id,
    tags: row.tags,
    state: row.state,
    stateReason: row.state_reason,
    expiresAt: row.expires_at,
    projectedExpiresAt: row.projected_expires_at,
    pcId: row.pc_id,
    absentSince: row.absent_since,
    ack: row.ack,
    createdAt: row.created_at,
    seenAt: row.seen_at,
  };
}

export function createDeviceQueries(
  s: string,
  options: { contacts: ChannelContacts; heard: LastContacts; now: () => Date },
) {
  const { contacts, heard, now } = options;
  const seenAt = contacts.seenAt('d.tenant_id', 'd.device_id');
  return {
    async get(client: Queryable, tenantId: number, deviceId: string): Promise<DeviceRow | null> {
      const { rows } = await client.query({
        name: 'muster_device',
        text: `${select(s, heard)} and d.device_id = $2`,
        values: [tenantId, deviceId],
      });
      return rows[0] ? device(rows[0]) : null;
    },

    /** The lane of an existing device, if nothing else is needed. */
    async laneOf(
      client: Queryable,
      tenantId: number,
      deviceId: string,
      which: 'there' | 'any' = 'there',
    ): Promise<string | null> {
      const { rows } = await client.query({
        name: 'muster_lane_of_device',
        text: `select lane_id from ${s}.devices where tenant_id = $1 and device_id = $2 and ($3 or deleted_at is null)`,
        values: [tenantId, deviceId, which === 'any'],
      });
      return rows[0]?.lane_id ?? null;
    },

    /** Also for a deleted device. */
    async deviceOfLane(client: Queryable, tenantId: number, laneId: string): Promise<string | null> {
      const { rows } = await client.query({
        text: `select device_id from ${s}.devices where tenant_id = $1 and lane_id = $2 and ${s}.sought_by(lane_id)`,
        values: [tenantId, laneId],
      });
      return rows[0]?.device_id ?? null;
    },

    async list(client: Queryable, filter: DeviceFilter): Promise<DeviceRow[]> {
      const values: unknown[] = [filter.tenantId];
      const conditions: string[] = [];
      const add = (value: unknown, sql: (n: string) => string) => {
        values.push(value);
        conditions.push(sql(`$${values.length}`));
      };
      if (filter.text !== undefined)
        add(
          contained(filter.text),
          (n) =>
            `(${['name', 'external_id', 'serial', 'model', 'os_version'].map((column) => `d.${column} ilike ${n}`).join(' or ')})`,
        );
      if (filter.tags) add(filter.tags, (n) => `d.tags @> ${n}::text[]`);
      if (filter.state) add(filter.state, (n) => `d.state = ${n}`);
      if (filter.pcId !== undefined)
        add(filter.pcId, (n) => `d.pc_id = ${n}::bigint and ${s}.sought_by(d.pc_id)`);
      if (filter.after !== undefined) add(filter.after, (n) => `d.device_id > ${n}::bigint`);
      if (filter.online !== undefined)
        add(
          heard.onlineSince(),
          (n) =>
            `(coalesce(${heard.seenAt('d.tenant_id', 'd.device_id')} > ${n}::timestamptz, false) = ${filter.online})`,
        );
      const { rows } = await client.query({
        text: `${[select(s, heard), ...conditions].join(' and ')} order by d.device_id limit ${filter.limit}`,
        values,
      });
      return rows.map(device);
    },

    async newIds(client: Queryable, count: number): Promise<string[]> {
      const { rows } = await client.query({
        text: `select nextval('${s}.device_seq') as id from generate_series(1, $1)`,
        values: [count],
      });
      return rows.map((row) => row.id);
    },

    /** Devices with one of these external ids, locked for an import that changes them. */
    async lockByExternalId(
      client: Queryable,
      tenantId: number,
      externalIds: readonly string[],
    ): Promise<Map<string, KnownDevice>> {
      const { rows } = await client.query({
        text: `select d.* from (
            select d.device_id from unnest((select $2::text[])) i(external_id)
            cross join lateral (
              select d.device_id from ${s}.devices d
              where d.tenant_id = $1 and d.external_id = i.external_id and ${s}.sought_by(d.external_id) and d.deleted_at is null limit 1
            ) d order by d.device_id
          ) i
          cross join lateral (
            select d.device_id, d.lane_id, d.external_id, d.name, d.expires_at, d.pc_id from ${s}.devices d
            where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null limit 1 for update
          ) d`,
        values: [tenantId, externalIds],
      });
      return new Map(
        rows.map((row) => [
          row.external_id,
          {
            deviceId: row.device_id,
            laneId: row.lane_id,
            name: row.name,
            expiresAt: row.expires_at,
            pcId: row.pc_id,
          },
        ]),
      );
    },

    /** Returns those that were added; an external id taken by a concurrent transaction is missing. */
    async insertMany(client: Queryable, tenantId: number, given: readonly NewDevice[]): Promise<Set<string>> {
      const { rows } = await client.query({
        text: `insert into ${s}.devices (tenant_id, device_id, lane_id, name, external_id, tags, expires_at, pc_id, ack, created_at)
          select $2, i.device_id, i.lane_id, i.name, i.external_id, array(select jsonb_array_elements_text(i.tags)), i.expires_at,
            i.pc_id, i.ack, $1::timestamptz
          from unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::jsonb[], $8::timestamptz[], $9::bigint[], $10::text[])
            as i(device_id, lane_id, name, external_id, tags, expires_at, pc_id, ack)
          on conflict (tenant_id, external_id) where ${s}.sought_by(external_id) and deleted_at is null do nothing
          returning device_id`,
        values: [
          now(),
          tenantId,
          given.map((one) => one.deviceId),
          given.map((one) => one.laneId),
          given.map((one) => one.name),
          given.map((one) => one.externalId),
          given.map((one) => JSON.stringify(one.tags)),
          given.map((one) => one.expiresAt),
          given.map((one) => one.pcId),
          given.map((one) => one.ack),
        ],
      });
      return new Set(rows.map((row) => row.device_id));
    },

    /** Many at once, for an import: null fields stay. */
    async updateMany(
      client: Queryable,
      tenantId: number,
      given: readonly {
        deviceId: string;
        name: string;
        tags: readonly string[] | null;
        expiresAt: Date | null;
        pcId: string | null;
        ack: string | null;
      }[],
    ): Promise<void> {
      await client.query({
        text: `update ${s}.devices d set name = i.name, expires_at = coalesce(i.expires_at, d.expires_at),
            pc_id = coalesce(i.pc_id, d.pc_id), absent_since = case when i.pc_id is null or i.pc_id = d.pc_id then d.absent_since end,
            ack = coalesce(i.ack, d.ack),
            tags = case when i.tags is null then d.tags else array(select jsonb_array_elements_text(i.tags)) end
          from (
            select $1::int as tenant_id, * from unnest((select $2::bigint[]), (select $3::text[]), (select $4::jsonb[]), (select $5::timestamptz[]),
              (select $6::bigint[]), (select $7::text[])) as i(device_id, name, tags, expires_at, pc_id, ack) offset 0
          ) i
          -- compared as an array: a look-up, not a join (hasKeyOf in the engine's sql.ts)
          where d.tenant_id = any(array[i.tenant_id]) and d.device_id = i.device_id`,
        values: [
          tenantId,
          given.map((one) => one.deviceId),
          given.map((one) => one.name),
          given.map((one) => (one.tags === null ? null : JSON.stringify(one.tags))),
          given.map((one) => one.expiresAt),
          given.map((one) => one.pcId),
          given.map((one) => one.ack),
        ],
      });
    },

    /** False: there is no such device. */
    async update(
      client: Queryable,
      tenantId: number,
      deviceId: string,
      change: DeviceChange,
    ): Promise<boolean> {
      const values: unknown[] = [tenantId, deviceId];
      const sets: string[] = [];
      const add = (column: string, value: unknown) => {
        if (value === undefined) return;
        values.push(value);
        sets.push(`${column} = $${values.length}`);
      };
      add('name', change.name);
      add('external_id', change.externalId);
      add('tags', change.tags);
      add('expires_at', change.expiresAt);
      add('pc_id', change.pcId);
      if (change.pcId !== undefined) add('absent_since', null); // what its old PC reported no longer counts
      add('ack', change.ack);
      const { rows } = await client.query({
        text: `update ${s}.devices set ${sets.length > 0 ? sets.join(', ') : 'name = name'}
          where tenant_id = $1 and device_id = $2 and deleted_at is null returning 1`,
        values,
      });
      return rows.length > 0;
    },

    /** Whatever the errors were. */
    async clearErrors(client: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<string[]> {
      const { rows } = await client.query({
        text: `update ${s}.devices d set state = 'ok', state_reason = null, state_action = null
          from (
            select distinct $1::int as of_tenant, i.id, o.state from unnest((select $2::bigint[])) i(id)
            cross join lateral (select o.state from ${s}.devices o where o.tenant_id = $1 and o.device_id = i.id limit 1) o
          ) i
          where d.tenant_id = any(array[i.of_tenant]) and d.device_id = i.id and d.deleted_at is null
          returning d.device_id, d.lane_id, i.state`,
        values: [tenantId, deviceIds],
      });
      const changed = rows.filter((row) => row.state !== 'ok');
      if (changed.length > 0)
        await client.query({
          text: `select ${s}.note_device_state($1, $2, i.lane_id, i.device_id, 'ok', i.state, null)
            from unnest($3::bigint[], $4::bigint[], $5::text[]) i(lane_id, device_id, state)`,
          values: [
            now(),
            tenantId,
            changed.map((row) => row.lane_id),
            changed.map((row) => row.device_id),
            changed.map((row) => row.state),
          ],
        });
      return rows.map((row) => row.device_id);
    },

    /** Locked, so it stays as it is until the end of the transaction. */
    async isDeregistered(client: Queryable, tenantId: number, deviceId: string): Promise<boolean> {
      const { rows } = await client.query({
        text: `select policy from ${s}.devices where tenant_id = $1 and device_id = $2 for no key update`,
        values: [tenantId, deviceId],
      });
      return rows[0]?.policy === 'deregistered';
    },

    /** Returns its lane; null: no such device. The row stays, because the history refers to it. */
    async remove(client: Queryable, tenantId: number, deviceId: string): Promise<string | null> {
      const { rows } = await client.query({
        text: `update ${s}.devices set deleted_at = $3::timestamptz
          where tenant_id = $1 and device_id = $2 and deleted_at is null returning lane_id`,
        values: [tenantId, deviceId, now()],
      });
      return rows[0]?.lane_id ?? null;
    },

    /** The last check-in of the devices of these lanes, if they are no longer online. */
    async offlineSince(
      client: Queryable,
      lanes: readonly { tenantId: number; laneId: string }[],
    ): Promise<{ laneId: string; deviceId: string; seenAt: Date | null }[]> {
      const { rows } = await client.query({
        text: `select * from (
            select d.lane_id, d.device_id, ${seenAt} as seen_at from unnest((select $2::int[]), (select $3::bigint[])) i(tenant_id, lane_id)
            cross join lateral (
              select * from ${s}.devices d where d.tenant_id = i.tenant_id and d.lane_id = i.lane_id and ${s}.sought_by(d.lane_id) limit 1
            ) d
          ) x where x.seen_at is null or x.seen_at <= $1::timestamptz`,
        values: [
          contacts.onlineSince(),
          lanes.map((lane) => lane.tenantId),
          lanes.map((lane) => lane.laneId),
        ],
      });
      return rows.map((row) => ({ laneId: row.lane_id, deviceId: row.device_id, seenAt: row.seen_at }));
    },

    /** Data of actions that the engine does not store. */
    async assignmentsOf(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, { source: string; by: string | null; moreDays: number; milestoneId: string }>> {
      const { rows } = await client.query({
        name: 'muster_assignments_of',
        text: `select b.* from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select action_id, source, assigned_by, more_days, milestone_id from ${s}.assignments b
            where b.tenant_id = $1 and b.action_id = i.action_id limit 1
          ) b`,
        values: [tenantId, actionIds],
      });
      return new Map(
        rows.map((row) => [
          row.action_id,
          { source: row.source, by: row.assigned_by, moreDays: row.more_days, milestoneId: row.milestone_id },
        ]),
      );
    },
  };
}

export type DeviceQueries = ReturnType<typeof createDeviceQueries>;
