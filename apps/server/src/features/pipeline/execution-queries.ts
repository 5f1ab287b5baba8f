import type { ExecutionStatus } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';
import { PIPELINE } from './channel.ts';

/** What the pipeline stores about an action, beside the engine. */
export interface PipelineAction {
  readonly actionId: string;
  readonly deviceId: string;
  readonly typeId: number;
  readonly offline: 'QUEUE' | 'FAIL';
}

export interface Dispatched {
  readonly actionId: string;
  readonly executionId: string;
  readonly commandUuid: string;
}

export interface NewPipelineAction {
  readonly actionId: string;
  readonly deviceId: string;
  readonly typeId: number;
  readonly batchId: string;
  readonly isUrgent: boolean;
  readonly offline: 'QUEUE' | 'FAIL';
  readonly templateId: string | null;
}

/** An execution, by the command it sent. */
export interface CommandOf {
  readonly commandUuid: string;
  readonly executionId: string;
  readonly actionId: string;
  readonly deviceId: string;
  readonly attempt: number;
  readonly dispatchedAt: Date | null;
  readonly typeId: number;
  readonly offline: 'QUEUE' | 'FAIL';
  readonly status: ExecutionStatus;
  readonly failedReason: string | null;
}

export interface Withdrawn {
  readonly tenantId: number;
  readonly commandUuid: string;
  readonly typeId: number;
  readonly udid: string;
}

export type ExecutionQueries = ReturnType<typeof createExecutionQueries>;

export function createExecutionQueries(s: string, now: () => Date) {
  return {
    /** Actions that were just queued, each with its first execution. In order. */
    async insert(
      client: Queryable,
      tenantId: number,
      given: readonly NewPipelineAction[],
    ): Promise<Dispatched[]> {
      const { rows } = await client.query({
        name: 'muster_pipeline_insert',
        text: `with i as materialized (
            select i.*, ${s}.uuid_v7($1) as execution_id, ${s}.uuid_v7($1) as command_uuid
            from unnest((select $3::bigint[]), (select $4::bigint[]), (select $5::smallint[]), (select $6::bigint[]), (select $7::boolean[]),
              (select $8::text[]), (select $9::bigint[]))
              with ordinality i(action_id, device_id, type_id, batch_id, is_urgent, offline, template_id, ord)
          ), a as (
            insert into ${s}.pipeline_actions (tenant_id, action_id, device_id, type_id, batch_id, is_urgent, offline, template_id)
              select $2, action_id, device_id, type_id, batch_id, is_urgent, offline, template_id from i
          ), e as (
            insert into ${s}.executions (tenant_id, execution_id, action_id, device_id, command_uuid, created_at)
              select $2, execution_id, action_id, device_id, command_uuid, $1 from i
          )
          select action_id, execution_id, command_uuid from i order by ord`,
        values: [
          now(),
          tenantId,
          given.map((one) => one.actionId),
          given.map((one) => one.deviceId),
          given.map((one) => one.typeId),
          given.map((one) => one.batchId),
          given.map((one) => one.isUrgent),
          given.map((one) => one.offline),
          given.map((one) => one.templateId),
        ],
      });
      return rows.map(dispatched);
    },

    async actions(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, PipelineAction>> {
      const { rows } = await client.query({
        name: 'muster_pipeline_actions',
        text: `select a.* from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select a.action_id, a.device_id, a.type_id, a.offline from ${s}.pipeline_actions a
            where a.tenant_id = $1 and a.action_id = i.action_id limit 1
          ) a`,
        values: [tenantId, actionIds],
      });
      return new Map(
        rows.map((row) => [
          row.action_id,
          { actionId: row.action_id, deviceId: row.device_id, typeId: row.type_id, offline: row.offline },
        ]),
      );
    },

    /**
     * These attempts begin: the awaiting execution is dispatched, or another one created. The executions of the action
     * are looked up first, behind `offset 0`: by the index of all that await their dispatch, 64 of a bulk of 10,000
     * took a second.
     */
    async dispatch(
      client: Queryable,
      tenantId: number,
      given: readonly { actionId: string; deviceId: string; attempt: number }[],
    ): Promise<Map<string, Dispatched>> {
      if (given.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_pipeline_dispatch',
        text: `with i as materialized (
            select * from unnest((select $3::bigint[]), (select $4::bigint[]), (select $5::int[])) i(action_id, device_id, attempt)
          ), u as (
            update ${s}.executions e set attempt = w.attempt, dispatched_at = $1
              from (
                select i.attempt, w.execution_id, $2::int as tenant_id from i cross join lateral (
                  select w.execution_id from (
                    select * from ${s}.executions w where w.tenant_id = $2 and w.action_id = i.action_id and ${s}.sought_by(w.action_id) offset 0
                  ) w where w.dispatched_at is null and w.ended_at is null order by w.execution_id limit 1
                ) w
              ) w
              where e.tenant_id = any(array[w.tenant_id]) and e.execution_id = w.execution_id
              returning e.action_id, e.execution_id, e.command_uuid
          ), n as (
            insert into ${s}.executions (tenant_id, execution_id, action_id, device_id, command_uuid, attempt, created_at, dispatched_at)
              select $2, ${s}.uuid_v7($1), i.action_id, i.device_id, ${s}.uuid_v7($1), i.attempt, $1, $1 from i
              where i.action_id not in (select u.action_id from u)
              returning action_id, execution_id, command_uuid
          )
          select * from u union all select * from n`,
        values: [
          now(),
          tenantId,
          given.map((one) => one.actionId),
          given.map((one) => one.deviceId),
          given.map((one) => one.attempt),
        ],
      });
      return new Map(rows.map((row) => [row.action_id, dispatched(row)]));
    },

    async byCommand(
      client: Queryable,
      tenantId: number,
      commandUuids: readonly string[],
    ): Promise<Map<string, CommandOf>> {
      if (commandUuids.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_pipeline_commands',
        text: `select e.*, a.type_id, a.offline from unnest((select $2::uuid[])) i(command_uuid)
          cross join lateral (
            select e.command_uuid, e.execution_id, e.action_id, e.device_id, e.attempt, e.dispatched_at, e.status, e.failed_reason from ${s}.executions e
            where e.tenant_id = $1 and e.command_uuid = i.command_uuid and ${s}.sought_by(e.command_uuid) and e.attempt is not null limit 1
          ) e
          cross join lateral (
            select a.type_id, a.offline from ${s}.pipeline_actions a where a.tenant_id = $1 and a.action_id = e.action_id limit 1
          ) a`,
        values: [tenantId, commandUuids],
      });
      return new Map(
        rows.map((row) => [
          row.command_uuid,
          {
            ...{ commandUuid: row.command_uuid, executionId: row.execution_id, actionId: row.action_id },
            ...{ deviceId: row.device_id, attempt: row.attempt, typeId: row.type_id, offline: row.offline },
            ...{ dispatchedAt: row.dispatched_at, status: row.status, failedReason: row.failed_reason },
          },
        ]),
      );
    },

    /** Those that the device has not acknowledged before: a repeated acknowledgement changes nothing. */
    async acknowledge(
      client: Queryable,
      tenantId: number,
      executionIds: readonly string[],
    ): Promise<Set<string>> {
      if (executionIds.length === 0) return new Set();
      const { rows } = await client.query({
        name: 'muster_pipeline_acknowledge',
        text: `update ${s}.executions e set acknowledged_at = $1 from unnest((select $3::uuid[])) i(execution_id)
          where e.tenant_id = any(array[$2::int]) and e.execution_id = i.execution_id and e.acknowledged_at is null returning e.execution_id`,
        values: [now(), tenantId, executionIds],
      });
      return new Set(rows.map((row) => row.execution_id));
    },

    async keepErrors(
      client: Queryable,
      tenantId: number,
      given: readonly { executionId: string; errorChain: readonly unknown[] }[],
    ): Promise<void> {
      if (given.length === 0) return;
      await client.query({
        text: `update ${s}.executions e set error_chain = i.chain from unnest((select $2::uuid[]), (select $3::jsonb[])) i(execution_id, chain)
          where e.tenant_id = any(array[$1::int]) and e.execution_id = i.execution_id`,
        values: [
          tenantId,
          given.map((one) => one.executionId),
          given.map((one) => JSON.stringify(one.errorChain)),
        ],
      });
    },

    /** Unfinished actions of this type, with the attempt of one that is with the device. */
    async openOf(
      client: Queryable,
      tenantId: number,
      deviceId: string,
      typeId: number,
    ): Promise<{ actionId: string; attempt: number | null }[]> {
      const { rows } = await client.query({
        text: `select u.action_id, l.attempt from ${s}.devices d
          join ${s}.unfinished_actions u on u.tenant_id = d.tenant_id and u.lane_id = d.lane_id and ${s}.sought_by(u.lane_id)
          join ${s}.pipeline_actions a on a.tenant_id = u.tenant_id and a.action_id = u.action_id and a.type_id = $3
          left join ${s}.lane_leases l on l.tenant_id = u.tenant_id and l.lane_id = u.lane_id and l.action_id = u.action_id
          where d.tenant_id = $1 and d.device_id = $2 and u.channel = '${PIPELINE}'`,
        values: [tenantId, deviceId, typeId],
      });
      return rows.map((row) => ({ actionId: row.action_id, attempt: row.attempt }));
    },

    /** Those of these devices that have unfinished actions of the pipeline. */
    async waitingOf(client: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<string[]> {
      if (deviceIds.length === 0) return [];
      const { rows } = await client.query({
        name: 'muster_pipeline_waiting',
        text: `select i.device_id from unnest((select $2::bigint[])) i(device_id)
          cross join lateral (
            select d.lane_id from ${s}.devices d where d.tenant_id = $1 and d.device_id = i.device_id and d.deleted_at is null limit 1
          ) d
          cross join lateral (
            select 1 from ${s}.unfinished_actions u
            where u.tenant_id = $1 and u.lane_id = d.lane_id and ${s}.sought_by(u.lane_id) and u.channel = '${PIPELINE}' limit 1
          ) u`,
        values: [tenantId, deviceIds],
      });
      return rows.map((row) => row.device_id);
    },

    /** Whether it was ever dispatched. */
    async wasDispatched(client: Queryable, tenantId: number, actionId: string): Promise<boolean> {
      const { rows } = await client.query({
        text: `select 1 from ${s}.executions e where e.tenant_id = $1 and e.action_id = $2 and ${s}.sought_by(e.action_id)
          and e.dispatched_at is not null limit 1`,
        values: [tenantId, actionId],
      });
      return rows.length > 0;
    },

    /** Commands of cancelled executions, at most this many; each is withdrawn once. */
    async withdraw(client: Queryable, most: number): Promise<Withdrawn[]> {
      const { rows } = await client.query({
        name: 'muster_pipeline_withdraw',
        text: `with w as materialized (
            select e.tenant_id, e.execution_id from ${s}.executions e where e.withdrawn order by e.tenant_id, e.execution_id limit ${most} for update skip locked
          ), u as (
            update ${s}.executions e set withdrawn = false from w
            where e.tenant_id = any(array[w.tenant_id]) and e.execution_id = w.execution_id
            returning e.tenant_id, e.action_id, e.device_id, e.command_uuid, e.ended_at
          )
          select u.tenant_id, u.command_uuid, a.type_id, d.udid from u
          cross join lateral (
            select a.type_id from ${s}.pipeline_actions a where a.tenant_id = u.tenant_id and a.action_id = u.action_id limit 1
          ) a
          cross join lateral (
            select d.udid from ${s}.devices d where d.tenant_id = u.tenant_id and d.device_id = u.device_id and d.udid is not null limit 1
          ) d
          where u.ended_at is null`,
      });
      return rows.map((row) => ({
        ...{ tenantId: row.tenant_id, commandUuid: row.command_uuid, typeId: row.type_id, udid: row.udid },
      }));
    },

    /** Deletes the pipeline's rows of pruned actions. */
    async prune(client: Queryable, most: number): Promise<number> {
      const gone = (b: string) =>
        `not exists (select 1 from ${s}.action_states x where x.tenant_id = ${b}.tenant_id and x.action_id = ${b}.action_id)`;
      const { rows } = await client.query({
        text: `with a as (
            delete from ${s}.pipeline_actions where (tenant_id, action_id) in (
              select b.tenant_id, b.action_id from ${s}.pipeline_actions b where ${gone('b')} limit $1) returning 1
          ), e as (
            delete from ${s}.executions where (tenant_id, execution_id) in (
              select b.tenant_id, b.execution_id from ${s}.executions b where ${gone('b')} limit $1) returning 1
          ) select greatest((select count(*) from a), (select count(*) from e))::int as pruned`,
        values: [most],
      });
      return rows[0].pruned;
    },
  };
}

const dispatched = (row: { action_id: string; execution_id: string; command_uuid: string }): Dispatched => ({
  actionId: row.action_id,
  executionId: row.execution_id,
  commandUuid: row.command_uuid,
});
