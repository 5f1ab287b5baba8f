import type { ExecutionStatus, Policy } from '@muster/contracts/words';
import type { Engine, Queryable } from '@muster/engine';
import { PIPELINE } from '../channel.ts';

/** The pages of the GraphQL interface: one statement each, whatever fields of their entries are requested. */
export interface Page<T> {
  readonly nodes: readonly T[];
  readonly cursor: string | null;
}

export interface Asked {
  readonly tenantId: number;
  readonly after: string | null;
  readonly first: number;
}

const ID = /^[1-9][0-9]{0,17}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const isUuid = (text: string) => UUID.test(text);
const idOr = (text: string | null, otherwise: string) => (text !== null && ID.test(text) ? text : otherwise);
const uuidOr = (text: string | null, otherwise: string) =>
  text !== null && UUID.test(text) ? text : otherwise;
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const LAST_ID = '9223372036854775807';

// biome-ignore lint/suspicious/noExplicitAny: rows of the statements below
type Row = any;

function pageOf<T extends object>(
  rows: readonly Row[],
  first: number,
  node: (row: Row) => T,
  cursor: (row: Row) => string,
): Page<T> {
  const shown = rows.slice(0, first);
  return { nodes: shown.map(node), cursor: rows.length > first ? cursor(shown.at(-1)) : null };
}

const device = (row: Row) => ({
  ...{ id: row.device_id, name: row.name, externalId: row.external_id, tags: row.tags, policy: row.policy },
  ...{ udid: row.udid, serial: row.serial, model: row.model, osVersion: row.os_version },
  ...{ isBusy: row.is_busy, createdAt: row.created_at },
});

export const execution = (row: Row) => ({
  ...{ id: row.execution_id, commandUuid: row.command_uuid, deviceId: row.device_id, status: row.status },
  ...{ failedReason: row.failed_reason, errorChain: row.error_chain, createdAt: row.created_at },
  ...{ dispatchedAt: row.dispatched_at, endedAt: row.ended_at },
  action: {
    ...{ id: row.action_id, state: row.state ?? 'forgotten', typeId: row.type_id, deviceId: row.device_id },
    ...{ batchId: row.batch_id, offline: row.offline, priority: row.is_urgent ? 'URGENT' : 'NORMAL' },
    messageTemplateId: row.template_id,
  },
});

const batch = (row: Row) => ({
  ...{ id: row.batch_id, setId: row.set_id, actionType: row.name, total: row.total },
  ...{ pending: row.pending, success: row.success, failed: row.total - row.pending - row.success },
  ...{ status: row.pending > 0 ? 'IN_PROGRESS' : 'COMPLETED' },
  ...{ createdAt: row.created_at, createdBy: row.created_by },
});

export type Reads = ReturnType<typeof createReads>;

export function createReads({ schema: s }: Pick<Engine, 'schema'>) {
  const BUSY = `(
      coalesce((select true from ${s}.lane_leases l where l.tenant_id = d.tenant_id and l.lane_id = d.lane_id limit 1), false)
      or exists (
        select 1 from ${s}.unfinished_actions u
        where u.tenant_id = d.tenant_id and u.lane_id = d.lane_id and ${s}.sought_by(u.lane_id) and u.channel = '${PIPELINE}'
          and not exists (select 1 from ${s}.executions e where e.tenant_id = u.tenant_id and e.action_id = u.action_id
            and ${s}.sought_by(e.action_id) and e.dispatched_at is not null)
      )) as is_busy`;
  const EXECUTIONS = (
    of: string,
  ) => `select e.*, a.type_id, a.batch_id, a.offline, a.is_urgent, a.template_id, x.state from (${of}) e
      cross join lateral (
        select * from ${s}.pipeline_actions a where a.tenant_id = e.tenant_id and a.action_id = e.action_id limit 1
      ) a
      left join lateral (
        select x.state from ${s}.action_states x where x.tenant_id = e.tenant_id and x.action_id = e.action_id limit 1
      ) x on true`;
  const ROWS = `${s}_reports.batch_device_actions`;
  const BATCHES = (
    where: string,
  ) => `select b.batch_id, b.set_id, b.name, b.created_at, b.created_by, c.* from (
        select * from ${s}.batches b where b.tenant_id = $1 and b.door = '${PIPELINE}' and ${where} order by b.batch_id desc limit $3
      ) b
      cross join lateral (
        select count(*)::int as total, count(*) filter (where r.status = 'PENDING')::int as pending,
          count(*) filter (where r.status = 'SUCCESS')::int as success
        from ${ROWS} r where r.tenant_id = b.tenant_id and r.batch_id = b.batch_id
      ) c order by b.batch_id desc`;

  return {
    async devices(
      client: Queryable,
      { tenantId, after, first }: Asked,
      filter: { policy: Policy | null; tag: string | null; search: string | null },
    ) {
      const { rows } = await client.query({
        text: `select d.*, ${BUSY} from ${s}.devices d
          where d.tenant_id = $1 and d.device_id > $2 and d.deleted_at is null and ($4::text is null or d.policy = $4)
            and ($5::text is null or d.tags @> array[$5]) and ($6::text is null or $6 in (d.serial, d.udid, d.external_id))
          order by d.device_id limit $3`,
        values: [tenantId, idOr(after, '0'), first + 1, filter.policy, filter.tag, filter.search],
      });
      return pageOf(rows, first, device, (row) => row.device_id);
    },

    async device(client: Queryable, tenantId: number, id: string) {
      if (!ID.test(id)) return null;
      const { rows } = await client.query({
        text: `select d.*, ${BUSY} from ${s}.devices d where d.tenant_id = $1 and d.device_id = $2 and d.deleted_at is null`,
        values: [tenantId, id],
      });
      return rows[0] ? device(rows[0]) : null;
    },

    async executions(
      client: Queryable,
      { tenantId, after, first }: Asked,
      filter: { deviceId: string | null; status: ExecutionStatus | null },
    ) {
      const { rows } = await client.query({
        text: `${EXECUTIONS(`select * from ${s}.executions e where e.tenant_id = $1 and e.execution_id < $2
            and ($4::bigint is null or e.device_id = $4) and ($5::text is null or e.status = $5) order by e.execution_id desc limit $3`)}
          order by e.execution_id desc`,
        values: [
          ...[tenantId, uuidOr(after, LAST_UUID), first + 1],
          ...[filter.deviceId === null ? null : idOr(filter.deviceId, '0'), filter.status],
        ],
      });
      return pageOf(rows, first, execution, (row) => row.execution_id);
    },

    async execution(client: Queryable, tenantId: number, id: string) {
      if (!UUID.test(id)) return null;
      const { rows } = await client.query({
        text: EXECUTIONS(`select * from ${s}.executions e where e.tenant_id = $1 and e.execution_id = $2`),
        values: [tenantId, id],
      });
      return rows[0] ? execution(rows[0]) : null;
    },

    /**
     * The last executions of several actions at once, each in order. An action requested several times is read once.
     */
    async executionsOf(
      client: Queryable,
      wanted: readonly { tenantId: number; actionId: string; last: number }[],
    ): Promise<ReturnType<typeof execution>[][]> {
      const keyOf = (tenantId: number, actionId: string) => `${tenantId}:${actionId}`;
      const sought = new Map<string, (typeof wanted)[number]>();
      for (const one of wanted) {
        const key = keyOf(one.tenantId, one.actionId);
        if (one.last > (sought.get(key)?.last ?? 0)) sought.set(key, one);
      }
      const asked = [...sought.values()];
      const { rows } = await client.query({
        text: `${EXECUTIONS(`select e.* from unnest((select $1::int[]), (select $2::bigint[]), (select $3::int[])) i(tenant_id, action_id, most)
            cross join lateral (
              select * from ${s}.executions e where e.tenant_id = i.tenant_id and e.action_id = i.action_id and ${s}.sought_by(e.action_id)
              order by e.attempt desc nulls first, e.execution_id desc limit i.most
            ) e`)} order by e.attempt nulls last, e.execution_id`,
        values: [
          asked.map((one) => one.tenantId),
          asked.map((one) => one.actionId),
          asked.map((one) => one.last),
        ],
      });
      const found = new Map<string, ReturnType<typeof execution>[]>();
      for (const row of rows) {
        const key = keyOf(row.tenant_id, row.action_id);
        const before = found.get(key);
        if (before) before.push(execution(row));
        else found.set(key, [execution(row)]);
      }
      return wanted.map((one) => (found.get(keyOf(one.tenantId, one.actionId)) ?? []).slice(-one.last));
    },

    async batches(client: Queryable, { tenantId, after, first }: Asked) {
      const { rows } = await client.query({
        text: BATCHES('b.batch_id < $2'),
        values: [tenantId, idOr(after, LAST_ID), first + 1],
      });
      return pageOf(rows, first, batch, (row) => row.batch_id);
    },

    async batch(client: Queryable, tenantId: number, id: string) {
      if (!ID.test(id)) return null;
      const { rows } = await client.query({ text: BATCHES('b.batch_id = $2'), values: [tenantId, id, 1] });
      return rows[0] ? batch(rows[0]) : null;
    },

    async batchDevices(
      client: Queryable,
      batchId: string,
      { tenantId, after, first }: Asked,
      status: string | null,
    ) {
      const { rows } = await client.query({
        text: `select r.n, r.device_id, r.status, r.error_code, r.execution_id from ${ROWS} r
          where r.tenant_id = $1 and r.batch_id = $2 and r.n > $3 and ($5::text is null or r.status = $5) order by r.n limit $4`,
        values: [tenantId, batchId, idOr(after, '0'), first + 1, status],
      });
      return pageOf(
        rows,
        first,
        (row) => ({
          deviceId: row.device_id,
          status: row.status,
          errorCode: row.error_code,
          executionId: row.execution_id,
        }),
        (row) => String(row.n),
      );
    },
  };
}
