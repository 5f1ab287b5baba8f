import type { DeviceStatus, DeviceWord } from '@muster/contracts/words';
import { type ActionEvent, behindUrgent, type Engine, type Queryable } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { actionsById } from '../../fleet/index.ts';
import { hideFields } from '../../http/hidden-fields.ts';
import { isId } from '../../http/ids.ts';
import { unknownTaskDevice } from './errors.ts';
import { notActive, unsuppliedReason } from './reasons.ts';
import type { TaskRow } from './task-queries.ts';
import { CHANNEL, payloadOf, statusOf } from './wire.ts';

/** The devices of a task as operators see them: those handed out, with their actions, and those that were not. */
export type TaskDevices = ReturnType<typeof createTaskDevices>;

const STATUS_OF_WORD: Record<DeviceWord, DeviceStatus> = {
  pending: 'pending',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  success: 'completed',
  claimed: 'running',
  retrying: 'pending',
  unsupplied: 'pending',
};

/** The text that the former system's reports search for. */
export const timeoutText = (seconds: number) =>
  `Task device timeout: exceeded ${seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`}`;

const STATUS = `case when x.ended is not null then x.ended when x.action_id is null then 'pending' when a.action_id is null then 'forgotten'
        when a.state = 'claimed' then 'running' when a.state = 'succeeded' then 'completed' when a.state = 'expired' then 'failed' else a.state end`;

/** The devices of a list whose task was never active: not frozen yet, but already named. */
const listed = (s: string) => `(
    select t.tenant_id, t.task_id, i.id::bigint as device_id, null::bigint as action_id,
      case when t.cancelled_at is not null then 'cancelled' end as ended, case when t.cancelled_at is not null then 'CANCELLED' end as reason
    from ${s}.tasks t cross join lateral jsonb_array_elements_text(t.targets->'deviceIds') i(id)
    where t.tenant_id = $1 and t.task_id = $2 and t.targets ? 'deviceIds')`;

export function createTaskDevices(engine: Engine, contacts: ChannelContacts) {
  const { db, schema: s } = engine;

  async function factsOf(client: Queryable, tenantId: number, taskId: string, deviceId: string) {
    const { rows } = await client.query({
      name: 'muster_task_device_facts',
      text: `select t.timeout_seconds, d.pc_id from ${s}.tasks t
        left join ${s}.devices d on d.tenant_id = t.tenant_id and d.device_id = $3
        where t.tenant_id = $1 and t.task_id = $2`,
      values: [tenantId, taskId, deviceId],
    });
    if (!rows[0]) throw unknownTaskDevice();
    return { timeoutSeconds: rows[0].timeout_seconds as number, pcId: rows[0].pc_id as string | null };
  }

  async function known(tenantId: number, id: string) {
    const action = isId(id) ? await engine.get(db, tenantId, id) : null;
    const { taskId, deviceId } = action?.channel === CHANNEL ? payloadOf(action) : {};
    if (!action || !taskId || !deviceId) throw unknownTaskDevice();
    return { action, taskId, deviceId, ...(await factsOf(db, tenantId, taskId, deviceId)) };
  }

  return {
    /** The devices of a task. `retrying` means pending again, `unsupplied` pending and never handed out. */
    async list(task: TaskRow, page: { word?: DeviceWord | undefined; after: string; limit: number }) {
      const { tenantId, taskId } = task;
      const behind = notActive(task);
      const { rows } = await db.query({
        text: `select x.device_id, x.action_id, x.reason as unsupplied_reason, d.pc_id, d.absent_since, d.name,
            d.state as device_state, d.state_reason, d.deleted_at is not null as deleted, ${contacts.seenAt('d.tenant_id', 'd.pc_id')} as seen_at, t.max_attempts, t.timeout_seconds,
            a.attempt, a.reason, a.created_at, a.ended_at, a.error, ${STATUS} as status,
            u.action_id as urgent_id, u.channel as urgent_channel, u.until as urgent_until
          from ${task.activatedAt ? `${s}.task_targets` : listed(s)} x
          join ${s}.tasks t on t.tenant_id = x.tenant_id and t.task_id = x.task_id
          left join ${s}.devices d on d.tenant_id = x.tenant_id and d.device_id = x.device_id
          left join ${s}.action_states a on a.tenant_id = x.tenant_id and a.action_id = x.action_id
          left join lateral (
            select * from ${s}.urgent_elsewhere($7::timestamptz, x.tenant_id, d.lane_id, '${CHANNEL}') u
            where x.action_id is null and x.ended is null limit 1
          ) u on true
          where x.tenant_id = $1 and x.task_id = $2 and x.device_id > $3 and ($4::text is null or ${STATUS} = $4)
            and ($5::boolean is null or (x.action_id is not null) = $5)
          order by x.device_id limit $6`,
        values: [
          tenantId,
          taskId,
          page.after,
          page.word === undefined ? null : STATUS_OF_WORD[page.word],
          page.word === 'retrying' ? true : page.word === 'unsupplied' ? false : null,
          page.limit,
          engine.now(),
        ],
      });
      const open = rows.filter(({ status }) => status === 'pending' || status === 'running');
      const ids = open.flatMap((row) => row.action_id ?? []);
      const actions = await actionsById(engine, db, tenantId, ids);
      const reasonOf = (row: (typeof rows)[number]) => {
        if (row.action_id !== null) return actions.get(row.action_id)?.waitingFor ?? undefined;
        return row.status === 'pending'
          ? (behind ?? urgentOf(row) ?? unsuppliedReason(contacts, tenantId, row))
          : undefined;
      };
      return rows.map((row) => ({
        id: row.action_id,
        taskId,
        deviceId: row.device_id,
        pcId: row.pc_id,
        // ended so long ago that its action was pruned
        status: row.status === 'forgotten' ? 'completed' : row.status,
        attempt: row.attempt ?? 0,
        maxAttempts: row.max_attempts,
        reason: row.unsupplied_reason ?? row.reason ?? undefined,
        error: row.error ?? (row.reason === 'TIMEOUT' ? timeoutText(row.timeout_seconds) : undefined),
        createdAt: row.created_at ?? undefined,
        endedAt: row.ended_at ?? undefined,
        absentSince: row.status === 'pending' ? (row.absent_since ?? undefined) : undefined,
        waitingFor: reasonOf(row),
        deviceName: row.name ?? undefined,
      }));
    },

    async get(tenantId: number, id: string) {
      const { action, taskId, deviceId, pcId, timeoutSeconds } = await known(tenantId, id);
      return {
        id: action.id,
        taskId,
        deviceId,
        pcId,
        status: statusOf(action.state),
        attempt: action.attempt,
        maxAttempts: action.maxAttempts,
        reason: action.reason ?? undefined,
        error: action.error ?? (action.reason === 'TIMEOUT' ? timeoutText(timeoutSeconds) : undefined),
        createdAt: action.createdAt,
        endedAt: action.endedAt ?? undefined,
        startedAt: action.startedAt ?? undefined,
        timeoutAt: action.leaseUntil ?? undefined,
        worker: action.worker ?? undefined,
        cancelRequested: action.cancelRequested || undefined,
        result: hideFields(action.result ?? undefined).shown,
        waitingFor: action.waitingFor,
      };
    },

    async events(tenantId: number, id: string) {
      const { timeoutSeconds } = await known(tenantId, id);
      const events = await engine.events(db, tenantId, id);
      return events
        .filter((event, n) => !isAtDeadline(event, events[n + 1]))
        .map((event) => wireEvent(event, timeoutSeconds));
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the list above
function urgentOf(row: any) {
  if (!row.urgent_id) return undefined;
  return behindUrgent({ id: row.urgent_id, channel: row.urgent_channel, until: row.urgent_until });
}

/** A lease that the deadline ended is not a timeout of the device: FAILED_FINAL with its reason says it all. */
function isAtDeadline({ type }: ActionEvent, next: ActionEvent | undefined): boolean {
  return type === 'TIMEOUT' && next?.type === 'FAILED_FINAL' && next.reason === 'DEADLINE';
}

/**
 * What went wrong in an attempt is its error. Reasons are for everything else: why something happened, late reports,
 * and a timeout that the runner noticed first.
 */
function wireEvent({ type, attempt, at, worker, reason }: ActionEvent, timeoutSeconds: number) {
  const said = { type, attempt, at, worker: worker ?? undefined };
  if (type === 'TIMEOUT') return { ...said, error: timeoutText(timeoutSeconds), reason: reason ?? undefined };
  if (type === 'FAILED') return { ...said, error: reason ?? undefined };
  return { ...said, reason: type === 'RETRY_SCHEDULED' ? undefined : (reason ?? undefined) };
}
