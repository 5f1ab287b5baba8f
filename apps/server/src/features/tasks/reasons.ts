import type { DoorReason, Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { taskOf } from './counting.ts';
import { activeTask, type TaskRow } from './task-queries.ts';
import { CHANNEL } from './wire.ts';

/** The task that a task and its devices wait for; undefined: none. */
export function notActive({ status, activeId }: Pick<TaskRow, 'status' | 'activeId'>) {
  if (status !== 'pending' || activeId === null) return undefined;
  return {
    code: 'TASK_NOT_ACTIVE' as const,
    text: `Task ${activeId} goes first: it is older and not finished.`,
  };
}

/** Why a device of a task waits. One read for a whole page. */
export function giveTaskReasons(engine: Engine, contacts: ChannelContacts): void {
  const { schema: s } = engine;
  engine.giveReasons(CHANNEL, async (client, waiting) => {
    const { rows } = await client.query({
      name: 'muster_task_reasons',
      text: `select i.tenant_id, i.action_id, o.task_id as active_id, ${taskOf('a')} as task_id, d.state, d.state_reason, d.absent_since, d.pc_id,
          d.deleted_at is not null as deleted, ${contacts.seenAt('d.tenant_id', 'd.pc_id')} as seen_at
        from unnest((select $1::int[]), (select $2::bigint[]), (select $3::bigint[])) i(tenant_id, action_id, lane_id)
        cross join lateral (select a.payload from ${s}.action_states a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1) a
        cross join lateral (
          select * from ${s}.devices d where d.tenant_id = i.tenant_id and d.lane_id = i.lane_id and ${s}.sought_by(d.lane_id) limit 1
        ) d
        left join lateral (${activeTask(s, 'i.tenant_id')}) o on true`,
      values: [
        waiting.map(({ tenantId }) => tenantId),
        waiting.map(({ id }) => id),
        waiting.map(({ laneId }) => laneId),
      ],
    });
    return new Map(
      rows.flatMap((row) => {
        const reason = reasonOf(contacts, row);
        return reason ? [[row.action_id as string, reason] as const] : [];
      }),
    );
  });
}

/** From a row with the active task, the device and when its PC was last seen. */
// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above, or of the list below
function reasonOf(contacts: ChannelContacts, row: any): DoorReason | null {
  const held = (code: string, text: string, facts: Pick<DoorReason, 'since'> = {}): DoorReason => ({
    place: 'held',
    code,
    text,
    ...facts,
  });
  if (row.task_id !== null && row.task_id !== row.active_id)
    return held(
      'TASK_NOT_ACTIVE',
      row.active_id === null ? 'Its task is not active.' : `Its task is waiting for task ${row.active_id}.`,
    );
  if (row.deleted) return held('DEVICE_DELETED', 'The device was deleted.');
  if (row.state === 'error')
    return held('DEVICE_IN_ERROR', `The device is in error: ${row.state_reason ?? 'unknown'}`);
  if (row.pc_id === null) return held('NO_PC', 'The device belongs to no PC.');
  if (row.absent_since !== null)
    return held('DEVICE_ABSENT', `Absent since ${row.absent_since.toISOString()}, according to its PC.`, {
      since: row.absent_since,
    });
  const seenAt = contacts.latest(row.tenant_id, row.pc_id, row.seen_at);
  if (contacts.isOnline(seenAt)) return null;
  const text = seenAt
    ? `The runner of its PC has been offline since ${seenAt.toISOString()}.`
    : 'The runner of its PC has never connected.';
  return { place: 'offline', code: 'OFFLINE', text, ...(seenAt ? { since: seenAt } : {}) };
}

/** For a device that its task has not handed out: what is in the way, else it waits for a slot. */
// biome-ignore lint/suspicious/noExplicitAny: a row of the list of devices of a task
export function unsuppliedReason(contacts: ChannelContacts, tenantId: number, row: any) {
  const known = { ...row, tenant_id: tenantId, task_id: null, state: row.device_state };
  const { place: _place, ...reason } = reasonOf(contacts, known) ?? {
    place: 'held' as const,
    code: 'NEXT_CONTACT',
    text: 'Its PC takes it as soon as it has a free slot and the device is free.',
  };
  return reason;
}
