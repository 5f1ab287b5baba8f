import type { Queryable } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { isId } from '../../http/ids.ts';
import { contained } from '../../searching/contained.ts';
import { eligible } from './eligible.ts';

/** The rows of PCs, joined with their runners' state in the engine and with their devices. */
export interface PcRow {
  readonly tenantId: number;
  readonly pcId: string;
  readonly name: string;
  readonly runnerId: string;
  readonly createdAt: Date;
}

export interface PcListing {
  readonly after: string;
  readonly limit: number;
  readonly text?: string | undefined;
  readonly online?: boolean | undefined;
}

export interface PcLoad extends PcRow {
  readonly slots: number;
  readonly running: number;
  readonly devices: number;
  readonly eligible: number;
  readonly inError: number;
  readonly absent: number;
  readonly errorIds: readonly string[];
  readonly errorNames: readonly string[];
  readonly seenAt: Date | null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statements below
const pcRow = (row: any): PcRow => ({
  tenantId: row.tenant_id,
  pcId: row.pc_id,
  name: row.name,
  runnerId: row.runner_id,
  createdAt: row.created_at,
});

export type PcQueries = ReturnType<typeof createPcQueries>;

export function createPcQueries(s: string, contacts: ChannelContacts, now: () => Date) {
  const seen = contacts.seenAt('p.tenant_id', 'p.pc_id');
  const inError = (column: string) =>
    `select ${column} from ${s}.devices x where x.tenant_id = p.tenant_id and x.pc_id = p.pc_id and ${s}.sought_by(x.pc_id)
      and x.deleted_at is null and x.state = 'error' order by x.device_id limit 100`;
  const loads = `select p.tenant_id, p.pc_id, p.name, p.runner_id, p.created_at, r.slots, r.running, d.*,
      ${seen} as seen_at,
      case when d.in_error > 0 then array(${inError('x.device_id::text')}) else '{}' end as error_ids,
      case when d.in_error > 0 then array(${inError('x.name')}) else '{}' end as error_names
    from ${s}.pcs p
    join ${s}.runner_loads r on r.tenant_id = p.tenant_id and r.runner_id = p.runner_id
    cross join lateral (
      select count(*)::int as devices, count(*) filter (where ${eligible('d')})::int as eligible,
        count(*) filter (where d.state = 'error')::int as in_error, count(*) filter (where d.absent_since is not null)::int as absent
      from ${s}.devices d where d.tenant_id = p.tenant_id and d.pc_id = p.pc_id and ${s}.sought_by(d.pc_id) and d.deleted_at is null
    ) d
    where p.tenant_id = $1`;

  // biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
  const load = (row: any): PcLoad => ({
    ...pcRow(row),
    slots: row.slots,
    running: row.running,
    devices: row.devices,
    eligible: row.eligible,
    inError: row.in_error,
    absent: row.absent,
    errorIds: row.error_ids,
    errorNames: row.error_names,
    seenAt: row.seen_at,
  });

  return {
    /** Null: the name is taken. */
    async insert(
      client: Queryable,
      given: { tenantId: number; name: string; runnerId: string },
    ): Promise<string | null> {
      const { rows } = await client.query({
        text: `insert into ${s}.pcs (tenant_id, name, runner_id, created_at)
          values ($2, $3, $4, $1::timestamptz) on conflict (tenant_id, name) do nothing returning pc_id`,
        values: [now(), given.tenantId, given.name, given.runnerId],
      });
      return rows[0]?.pc_id ?? null;
    },

    /** Serialises claims and changes of one PC. Null: there is none. */
    async lock(client: Queryable, tenantId: number, pcId: string): Promise<PcRow | null> {
      const { rows } = await client.query({
        text: `select * from ${s}.pcs where tenant_id = $1 and pc_id = $2 for no key update`,
        values: [tenantId, pcId],
      });
      return rows[0] ? pcRow(rows[0]) : null;
    },

    /** Also waits for transactions that are assigning a device to it. */
    async lockToDelete(client: Queryable, tenantId: number, pcId: string): Promise<PcRow | null> {
      const { rows } = await client.query({
        text: `select * from ${s}.pcs where tenant_id = $1 and pc_id = $2 for update`,
        values: [tenantId, pcId],
      });
      return rows[0] ? pcRow(rows[0]) : null;
    },

    async get(client: Queryable, tenantId: number, pcId: string): Promise<PcLoad | null> {
      const { rows } = await client.query({
        name: 'muster_pc',
        text: `${loads} and p.pc_id = $2`,
        values: [tenantId, pcId],
      });
      return rows[0] ? load(rows[0]) : null;
    },

    /** In the order of their creation. */
    async list(client: Queryable, tenantId: number, page: PcListing): Promise<PcLoad[]> {
      const { rows } = await client.query({
        name: 'muster_pcs',
        text: `${loads} and p.pc_id > $2 and ($4::text is null or p.name ilike $4)
            and ($5::boolean is null or coalesce(${seen} > $6::timestamptz, false) = $5)
          order by p.pc_id limit $3`,
        values: [
          ...[tenantId, page.after, page.limit, page.text === undefined ? null : contained(page.text)],
          ...[page.online ?? null, contacts.onlineSince()],
        ],
      });
      return rows.map(load);
    },

    /** Names of devices and tasks, in the given order. */
    async namesOf(
      client: Queryable,
      tenantId: number,
      of: readonly { deviceId: string; taskId: string }[],
    ): Promise<{ device: string | null; task: string | null }[]> {
      const { rows } = await client.query({
        name: 'muster_names_of_running',
        text: `select d.name as device, t.name as task
          from unnest((select $2::bigint[]), (select $3::bigint[])) with ordinality i(device_id, task_id, ord)
          left join lateral (select name from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id limit 1) d on true
          left join lateral (select name from ${s}.tasks t where t.tenant_id = $1 and t.task_id = i.task_id limit 1) t on true
          order by i.ord`,
        // an application may put anything into a payload
        values: [
          tenantId,
          of.map(({ deviceId }) => (isId(deviceId) ? deviceId : '0')),
          of.map(({ taskId }) => (isId(taskId) ? taskId : '0')),
        ],
      });
      return rows;
    },

    /** False: the name is taken. */
    async rename(client: Queryable, tenantId: number, pcId: string, name: string): Promise<boolean> {
      const { rows } = await client.query({
        text: `update ${s}.pcs p set name = $3 where p.tenant_id = $1 and p.pc_id = $2
          and not exists (select 1 from ${s}.pcs o where o.tenant_id = $1 and o.name = $3 and o.pc_id <> $2) returning 1`,
        values: [tenantId, pcId, name],
      });
      return rows.length > 0;
    },

    /** Its devices are left without a PC. Returns their lanes. */
    async remove(client: Queryable, tenantId: number, pcId: string): Promise<string[]> {
      const { rows } = await client.query({
        text: `with p as (
            delete from ${s}.pcs where tenant_id = $1 and pc_id = $2
          )
          update ${s}.devices set pc_id = null, absent_since = null where tenant_id = $1 and pc_id = $2 returning lane_id`,
        values: [tenantId, pcId],
      });
      return rows.map((row) => row.lane_id);
    },

    async lanesOf(client: Queryable, tenantId: number, pcId: string): Promise<string[]> {
      const { rows } = await client.query({
        text: `select lane_id from ${s}.devices where tenant_id = $1 and pc_id = $2 and ${s}.sought_by(pc_id) and deleted_at is null order by lane_id`,
        values: [tenantId, pcId],
      });
      return rows.map((row) => row.lane_id);
    },

    async newest(
      client: Queryable,
      tenantId: number,
      limit: number,
    ): Promise<{ pcId: string; runnerId: string }[]> {
      const { rows } = await client.query({
        text: `select pc_id, runner_id from ${s}.pcs where tenant_id = $1 order by pc_id desc limit $2`,
        values: [tenantId, limit],
      });
      return rows.map((row) => ({ pcId: row.pc_id, runnerId: row.runner_id }));
    },

    async runners(client: Queryable, tenantId: number): Promise<string[]> {
      const { rows } = await client.query({
        text: `select runner_id from ${s}.pcs where tenant_id = $1`,
        values: [tenantId],
      });
      return rows.map((row) => row.runner_id);
    },

    /**
     * Records the presence that the runner reports for all its devices or the named ones. Returns the state of each
     * device of the PC.
     */
    async setPresence(
      client: Queryable,
      tenantId: number,
      pcId: string,
      said: readonly { id: string; present: boolean }[],
      andNoOthers: boolean,
    ): Promise<{ id: string; present: boolean; appeared: boolean }[]> {
      const { rows } = await client.query({
        text: `with x as materialized (
            select d.tenant_id, d.device_id, d.absent_since is not null as absent, coalesce(not i.present, $5::boolean or d.absent_since is not null) as now_absent from (
              select d.device_id from ${s}.devices d
              where d.tenant_id = $1 and d.pc_id = $2 and ${s}.sought_by(d.pc_id) and d.deleted_at is null order by d.device_id offset 0
            ) o
            cross join lateral (
              select * from ${s}.devices d
              where d.tenant_id = $1 and d.device_id = o.device_id and d.pc_id = $2 and d.deleted_at is null limit 1 for no key update
            ) d
            left join unnest($3::bigint[], $4::boolean[]) i(device_id, present) on i.device_id = d.device_id
          ), u as (
            update ${s}.devices d set absent_since = case when x.now_absent then $6::timestamptz end from x
            where d.tenant_id = any(array[x.tenant_id]) and d.device_id = x.device_id and x.absent <> x.now_absent
          )
          select device_id, absent, now_absent from x order by device_id`,
        values: [
          tenantId,
          pcId,
          said.map(({ id }) => id),
          said.map(({ present }) => present),
          andNoOthers,
          now(),
        ],
      });
      return rows.map((row) => ({
        id: row.device_id,
        present: !row.now_absent,
        appeared: row.absent && !row.now_absent,
      }));
    },
  };
}
