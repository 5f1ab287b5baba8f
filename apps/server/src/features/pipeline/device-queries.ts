import type { ExecutionStatus, Policy } from '@muster/contracts/words';
import type { Engine, Queryable } from '@muster/engine';
import { days, unfinishedDays } from '../../fleet/index.ts';
import { PIPELINE } from './channel.ts';
import { NOTE, type StateNote } from './state-note.ts';
import { policyAfter, type Standing } from './transitions.ts';

/** Devices as the pipeline sees them. */
export interface PipelineDevice {
  readonly deviceId: string;
  readonly laneId: string;
  readonly policy: Policy;
  readonly udid: string | null;
  readonly hasUnlockToken: boolean | null;
  readonly lifeBeganAt: Date | null;
}

export type DeviceQueries = ReturnType<typeof createDeviceQueries>;

export function createDeviceQueries({ note, now, schema: s }: Pick<Engine, 'note' | 'now' | 'schema'>) {
  const COLUMNS = 'd.device_id, d.lane_id, d.policy, d.udid, d.has_unlock_token, d.life_began_at';
  // biome-ignore lint/suspicious/noExplicitAny: a row of the columns above
  const device = (row: any): PipelineDevice => ({
    deviceId: row.device_id,
    laneId: row.lane_id,
    policy: row.policy,
    udid: row.udid,
    hasUnlockToken: row.has_unlock_token,
    lifeBeganAt: row.life_began_at,
  });

  return {
    /**
     * Locks the devices that exist. Until the transaction ends, no other one assigns to them, dispatches to them or
     * moves their policy: all lock the devices first, in this order, and their lanes later.
     */
    async lock(client: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<PipelineDevice[]> {
      if (deviceIds.length === 0) return [];
      const { rows } = await client.query({
        name: 'muster_pipeline_lock',
        text: `select d.* from (select distinct device_id from unnest((select $2::bigint[])) i(device_id) order by device_id) i
          cross join lateral (
            select ${COLUMNS} from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null
            limit 1 for no key update
          ) d`,
        values: [tenantId, deviceIds],
      });
      return rows.map(device);
    },

    /**
     * The same without waiting: devices locked by another transaction are in `held`, to be tried again. For gathered
     * calls: none waits for another's device.
     */
    async lockFree(
      client: Queryable,
      tenantId: number,
      deviceIds: readonly string[],
    ): Promise<{ locked: PipelineDevice[]; held: Set<string> }> {
      if (deviceIds.length === 0) return { locked: [], held: new Set() };
      const { rows } = await client.query({
        name: 'muster_pipeline_lock_free',
        text: `select i.device_id as wanted, d.* from (select distinct device_id from unnest((select $2::bigint[])) i(device_id) order by device_id) i
          cross join lateral (
            select 1 from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null limit 1
          ) known
          left join lateral (
            select ${COLUMNS} from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null
            limit 1 for no key update skip locked
          ) d on true`,
        values: [tenantId, deviceIds],
      });
      return {
        locked: rows.filter((row) => row.device_id !== null).map(device),
        held: new Set(rows.filter((row) => row.device_id === null).map((row) => row.wanted)),
      };
    },

    /** By the identifiers that vendor layers use. */
    async idsByUdid(
      client: Queryable,
      tenantId: number,
      udids: readonly string[],
    ): Promise<Map<string, string>> {
      if (udids.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_pipeline_udids',
        text: `select d.* from unnest((select $2::text[])) i(udid)
          cross join lateral (
            select d.udid, d.device_id from ${s}.devices d
            where d.tenant_id = $1 and d.udid = i.udid and ${s}.sought_by(d.udid) and d.deleted_at is null limit 1
          ) d`,
        values: [tenantId, udids],
      });
      return new Map(rows.map((row) => [row.udid, row.device_id]));
    },

    /**
     * What can be assigned to these devices, which the caller has locked. Busy: an action awaits its first dispatch, or
     * any door has leased the lane.
     */
    async standingsOf(
      client: Queryable,
      tenantId: number,
      devices: readonly PipelineDevice[],
    ): Promise<Map<string, Standing>> {
      if (devices.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_pipeline_standings',
        text: `select i.device_id, l.action_id is not null or coalesce(u.is_waiting, false) as is_busy, coalesce(u.types, '{}') as types
          from unnest((select $2::bigint[]), (select $3::bigint[])) i(device_id, lane_id)
          left join lateral (
            select l.action_id from ${s}.lane_leases l where l.tenant_id = $1 and l.lane_id = i.lane_id limit 1
          ) l on true
          left join lateral (
            select array_agg(a.type_id order by u.is_claimed desc, a.is_urgent desc, u.seq) as types, bool_or(e.is_waiting) as is_waiting
            from ${s}.unfinished_actions u
            cross join lateral (
              select a.type_id, a.is_urgent from ${s}.pipeline_actions a where a.tenant_id = u.tenant_id and a.action_id = u.action_id limit 1
            ) a
            cross join lateral (
              select count(*) filter (where e.dispatched_at is not null) = 0 as is_waiting from ${s}.executions e
              where e.tenant_id = u.tenant_id and e.action_id = u.action_id and ${s}.sought_by(e.action_id)
            ) e
            where u.tenant_id = $1 and u.lane_id = i.lane_id and ${s}.sought_by(u.lane_id) and u.channel = '${PIPELINE}'
          ) u on true`,
        values: [tenantId, devices.map((one) => one.deviceId), devices.map((one) => one.laneId)],
      });
      const known = new Map(devices.map((one) => [one.deviceId, one]));
      return new Map(
        rows.map((row) => {
          const { policy, hasUnlockToken } = known.get(row.device_id) as PipelineDevice;
          return [
            row.device_id,
            { current: policy, policy: policyAfter(policy, row.types), isBusy: row.is_busy, hasUnlockToken },
          ];
        }),
      );
    },

    /** What a vendor layer reports about a device; undefined fields stay. */
    async describe(
      client: Queryable,
      tenantId: number,
      deviceId: string,
      said: {
        udid?: string;
        serial?: string | null | undefined;
        model?: string | null | undefined;
        osVersion?: string | null | undefined;
        hasUnlockToken?: boolean | null | undefined;
      },
    ): Promise<void> {
      const names = { udid: 'udid', serial: 'serial', model: 'model', osVersion: 'os_version' } as const;
      const given = Object.entries({ ...names, hasUnlockToken: 'has_unlock_token' }).flatMap(
        ([name, column]) =>
          said[name as keyof typeof said] === undefined
            ? []
            : [{ column, value: said[name as keyof typeof said] }],
      );
      if (given.length === 0) return;
      await client.query({
        text: `update ${s}.devices set ${given.map(({ column }, n) => `${column} = $${n + 3}`).join(', ')}
          where tenant_id = $1 and device_id = $2`,
        values: [tenantId, deviceId, ...given.map(({ value }) => value)],
      });
    },

    async beginLife(client: Queryable, tenantId: number, deviceId: string): Promise<void> {
      await client.query({
        text: `update ${s}.devices set life_began_at = $3 where tenant_id = $1 and device_id = $2`,
        values: [tenantId, deviceId, now()],
      });
    },

    /** Another device had this identifier until now: it is one phone, which is now the given device. */
    async unbind(client: Queryable, tenantId: number, udid: string, except: string): Promise<void> {
      await client.query({
        text: `update ${s}.devices d set udid = null
          where d.tenant_id = $1 and d.udid = $2 and ${s}.sought_by(d.udid) and d.deleted_at is null and d.device_id <> $3`,
        values: [tenantId, udid, except],
      });
    },

    /** Moves a policy without the end of an action: writes the policy, its milestone and the event at once. */
    async movePolicy(
      client: Queryable,
      moves: readonly {
        tenantId: number;
        device: PipelineDevice;
        to: Policy;
        /** The execution that the device did too late, as it stays; null: the device did it on its own. */
        execution: { id: string; status: ExecutionStatus; failedReason: string | null } | null;
        actionId: string | null;
      }[],
    ): Promise<void> {
      const real = moves.filter(({ device, to }) => device.policy !== to);
      if (real.length === 0) return;
      await client.query({
        name: 'muster_pipeline_move',
        text: `with i as materialized (
            select * from unnest((select $2::int[]), (select $3::bigint[]), (select $4::text[]), (select $5::uuid[]), (select $6::bigint[]))
              i(tenant_id, device_id, policy, execution_id, action_id)
          ), m as (
            insert into ${s}.milestones (tenant_id, device_id, type, action_id, source, at, expires_at, projected_expires_at, policy)
              select d.tenant_id, d.device_id, 'policyChanged', i.action_id, 'pipeline', $1::timestamptz, d.expires_at,
                d.expires_at + ${days(unfinishedDays(s, 'd'))}, i.policy
              from i cross join lateral (
                select * from ${s}.devices d where d.tenant_id = i.tenant_id and d.device_id = i.device_id limit 1
              ) d
          )
          update ${s}.devices d set policy = i.policy from i
          where d.tenant_id = any(array[i.tenant_id]) and d.device_id = i.device_id`,
        values: [
          now(),
          real.map((one) => one.tenantId),
          real.map((one) => one.device.deviceId),
          real.map((one) => one.to),
          real.map((one) => one.execution?.id ?? null),
          real.map((one) => one.actionId),
        ],
      });
      const at = now().toISOString();
      await note(
        client,
        real.map(({ tenantId, device, to, execution }) => ({
          tenantId,
          laneId: device.laneId,
          name: NOTE,
          data: {
            ...{ deviceId: device.deviceId, policy: to, previousPolicy: device.policy },
            executionId: execution?.id ?? null,
            ...{
              status: execution?.status ?? 'ACTION_COMPLETED',
              failedReason: execution?.failedReason ?? null,
              at,
            },
          } satisfies StateNote,
        })),
      );
    },
  };
}
