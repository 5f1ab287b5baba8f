import type { Queryable } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { isId } from '../../http/ids.ts';
import { contained } from '../../searching/contained.ts';

/** Hosts and services as they are stored. Slots belong to the engine, so they are read from there. */
export interface Host {
  readonly id: string;
  readonly tenantId: number;
  readonly name: string;
  readonly runnerId: string;
  readonly slots: number | null;
  readonly createdAt: Date;
  readonly seenAt: Date | null;
}

export interface Service {
  readonly id: string;
  readonly tenantId: number;
  readonly hostId: string;
  readonly laneId: string;
  readonly unitName: string;
  readonly displayName: string;
  readonly description: string;
  readonly createdAt: Date;
}

export interface HostListing {
  readonly after: string;
  readonly limit: number;
  readonly text?: string | undefined;
  readonly online?: boolean | undefined;
}

export interface NewHost {
  readonly tenantId: number;
  readonly name: string;
  readonly runnerId: string;
  readonly enrolment: Buffer | null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row of a statement below
type Row = any;

const host = (row: Row): Host => ({
  id: row.host_id,
  tenantId: row.tenant_id,
  name: row.name,
  runnerId: row.runner_id,
  slots: row.slots,
  createdAt: row.created_at,
  seenAt: row.seen_at,
});

const service = (row: Row): Service => ({
  id: row.service_id,
  tenantId: row.tenant_id,
  hostId: row.host_id,
  laneId: row.lane_id,
  unitName: row.unit_name,
  displayName: row.display_name,
  description: row.description,
  createdAt: row.created_at,
});

export type ControlQueries = ReturnType<typeof createQueries>;

export function createQueries(s: string, contacts: ChannelContacts) {
  const seen = contacts.seenAt('h.tenant_id', 'h.host_id');
  const seenAt = `${seen} as seen_at`;
  const hosts = `select h.*, r.slots, ${seenAt} from ${s}.hosts h
    left join ${s}.runner_loads r on r.tenant_id = h.tenant_id and r.runner_id = h.runner_id where h.tenant_id = $1`;

  return {
    /** Null: the name is taken. */
    async insertHost(client: Queryable, given: NewHost): Promise<string | null> {
      const { rows } = await client.query({
        text: `insert into ${s}.hosts (tenant_id, name, runner_id, enrolment_sha256) values ($1, $2, $3, $4)
          on conflict (tenant_id, name) do nothing returning host_id`,
        values: [given.tenantId, given.name, given.runnerId, given.enrolment],
      });
      return rows[0]?.host_id ?? null;
    },

    /** Locked for a change, so two changes of its token come one after the other. */
    async lockHost(client: Queryable, tenantId: number, hostId: string): Promise<Host | null> {
      if (!isId(hostId)) return null;
      const { rows } = await client.query({
        text: `${hosts} and h.host_id = $2 for update of h`,
        values: [tenantId, hostId],
      });
      return rows[0] ? host(rows[0]) : null;
    },

    async getHost(client: Queryable, tenantId: number, hostId: string): Promise<Host | null> {
      if (!isId(hostId)) return null;
      const { rows } = await client.query({
        text: `${hosts} and h.host_id = $2`,
        values: [tenantId, hostId],
      });
      return rows[0] ? host(rows[0]) : null;
    },

    async findEnrolled(client: Queryable, tenantId: number, enrolment: Buffer): Promise<Host | null> {
      const { rows } = await client.query({
        text: `${hosts} and h.enrolment_sha256 = $2 for update of h`,
        values: [tenantId, enrolment],
      });
      return rows[0] ? host(rows[0]) : null;
    },

    /** In the order of their creation. */
    async listHosts(client: Queryable, tenantId: number, page: HostListing): Promise<Host[]> {
      const { rows } = await client.query({
        text: `${hosts} and h.host_id > $2 and ($6::text is null or h.name ilike $6)
            and ($4::boolean is null or coalesce(${seen} > $5::timestamptz, false) = $4)
          order by h.host_id limit $3`,
        values: [
          ...[tenantId, page.after, page.limit, page.online ?? null, contacts.onlineSince()],
          page.text === undefined ? null : contained(page.text),
        ],
      });
      return rows.map(host);
    },

    /** False: the name is taken. */
    async renameHost(client: Queryable, tenantId: number, hostId: string, name: string): Promise<boolean> {
      const { rows } = await client.query({
        text: `update ${s}.hosts h set name = $3 where h.tenant_id = $1 and h.host_id = $2
          and not exists (select 1 from ${s}.hosts o where o.tenant_id = $1 and o.name = $3 and o.host_id <> $2) returning 1`,
        values: [tenantId, hostId, name],
      });
      return rows.length > 0;
    },

    async deleteHost(client: Queryable, tenantId: number, hostId: string): Promise<void> {
      await client.query({
        text: `delete from ${s}.hosts where tenant_id = $1 and host_id = $2`,
        values: [tenantId, hostId],
      });
    },

    async nextServiceId(client: Queryable): Promise<string> {
      const { rows } = await client.query({ text: `select nextval('${s}.service_seq') as id` });
      return rows[0].id;
    },

    async countServices(client: Queryable, tenantId: number, hostId: string): Promise<number> {
      const { rows } = await client.query({
        text: `select count(*)::int as n from ${s}.services where tenant_id = $1 and host_id = $2`,
        values: [tenantId, hostId],
      });
      return rows[0].n;
    },

    /** Null: the host already has a service for this unit. */
    async insertService(client: Queryable, given: Omit<Service, 'createdAt'>): Promise<Service | null> {
      const { rows } = await client.query({
        text: `insert into ${s}.services (tenant_id, service_id, host_id, lane_id, unit_name, display_name, description)
          values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning *`,
        values: [
          given.tenantId,
          given.id,
          given.hostId,
          given.laneId,
          given.unitName,
          given.displayName,
          given.description,
        ],
      });
      return rows[0] ? service(rows[0]) : null;
    },

    async getServices(
      client: Queryable,
      wanted: readonly { tenantId: number; id: string }[],
    ): Promise<Service[]> {
      const { rows } = await client.query({
        name: 'muster_get_services',
        text: `select x.* from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, service_id)
          join ${s}.services x on x.tenant_id = i.tenant_id and x.service_id = i.service_id`,
        values: [wanted.map(({ tenantId }) => tenantId), wanted.map(({ id }) => id)],
      });
      return rows.map(service);
    },

    /** "nginx.service on web-1", by the ids of the services. */
    async namesOfServices(
      client: Queryable,
      tenantId: number,
      ids: readonly string[],
    ): Promise<Map<string, string>> {
      const { rows } = await client.query({
        name: 'muster_names_of_services',
        text: `select x.service_id, x.unit_name || ' on ' || h.name as name
          from unnest((select $2::bigint[])) i(service_id)
          cross join lateral (
            select * from ${s}.services x where x.tenant_id = $1 and x.service_id = i.service_id limit 1
          ) x
          cross join lateral (
            select h.name from ${s}.hosts h where h.tenant_id = $1 and h.host_id = x.host_id limit 1
          ) h`,
        values: [tenantId, ids.filter(isId)],
      });
      return new Map(rows.map((row) => [row.service_id, row.name]));
    },

    async listServices(client: Queryable, tenantId: number, hostId: string): Promise<Service[]> {
      const { rows } = await client.query({
        text: `select * from ${s}.services where tenant_id = $1 and host_id = $2 order by service_id`,
        values: [tenantId, hostId],
      });
      return rows.map(service);
    },

    async changeService(
      client: Queryable,
      of: { tenantId: number; hostId: string; id: string },
      to: { displayName: string | null; description: string | null },
    ): Promise<Service | null> {
      if (!isId(of.id)) return null;
      const { rows } = await client.query({
        text: `update ${s}.services set display_name = coalesce($4, display_name), description = coalesce($5, description)
          where tenant_id = $1 and host_id = $2 and service_id = $3 returning *`,
        values: [of.tenantId, of.hostId, of.id, to.displayName, to.description],
      });
      return rows[0] ? service(rows[0]) : null;
    },

    async deleteService(
      client: Queryable,
      of: { tenantId: number; hostId: string; id: string },
    ): Promise<Service | null> {
      if (!isId(of.id)) return null;
      const { rows } = await client.query({
        text: `delete from ${s}.services where tenant_id = $1 and host_id = $2 and service_id = $3 returning *`,
        values: [of.tenantId, of.hostId, of.id],
      });
      return rows[0] ? service(rows[0]) : null;
    },

    /** Those of these lanes that are services; until the transaction ends they cannot be deleted. */
    async keepServices(
      client: Queryable,
      tenantId: number,
      laneIds: readonly string[],
    ): Promise<ReadonlySet<string>> {
      const { rows } = await client.query({
        text: `select lane_id from ${s}.services where tenant_id = $1 and lane_id = any($2::bigint[])
          order by service_id for key share`,
        values: [tenantId, laneIds],
      });
      return new Set(rows.map((row) => row.lane_id));
    },

    async contactsOfLanes(
      client: Queryable,
      lanes: readonly { tenantId: number; laneId: string }[],
    ): Promise<{ tenantId: number; laneId: string; hostId: string; seenAt: Date | null }[]> {
      const { rows } = await client.query({
        name: 'muster_contacts_of_lanes',
        text: `select x.tenant_id, x.lane_id, x.host_id, ${seenAt}
          from (select distinct * from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, lane_id)) i
          join ${s}.services x on x.tenant_id = i.tenant_id and x.lane_id = i.lane_id
          join ${s}.hosts h on h.tenant_id = x.tenant_id and h.host_id = x.host_id`,
        values: [lanes.map(({ tenantId }) => tenantId), lanes.map(({ laneId }) => laneId)],
      });
      return rows.map((row) => ({
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        hostId: row.host_id,
        seenAt: row.seen_at,
      }));
    },
  };
}
