import type { ActionState, ActionView, LaneLoad } from '@muster/engine';
import type { DeviceRow } from './queries.ts';

/** Devices and their actions in the words of this door. */
const WORDS: Record<ActionState, 'pending' | 'sent' | 'done' | 'failed' | 'cancelled' | 'expired'> = {
  pending: 'pending',
  claimed: 'sent',
  succeeded: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'expired',
};

export function wireStatus(state: string) {
  return WORDS[state as ActionState];
}

export function wireDevice(
  row: DeviceRow,
  load: LaneLoad | undefined,
  contact: { seenAt: Date | null; online: boolean },
) {
  const leased = load?.leased;
  return {
    id: row.deviceId,
    name: row.name,
    externalId: row.externalId,
    tags: row.tags,
    state: row.state,
    stateReason: row.stateReason ?? undefined,
    online: contact.online,
    lastSeenAt: contact.seenAt,
    queueDepth: load?.waiting ?? 0,
    current: leased
      ? {
          id: leased.id,
          kind: leased.kind,
          attempt: leased.attempt,
          sentAt: leased.leasedAt,
          leaseUntil: leased.leaseUntil,
          cancelRequested: leased.cancelRequested || undefined,
        }
      : null,
    expiresAt: row.expiresAt,
    projectedExpiresAt: row.projectedExpiresAt,
    pcId: row.pcId,
    absent: row.absent || undefined,
    ack: row.ack,
    createdAt: row.createdAt,
  };
}

/** What the door knows of an action; of one that was queued past it (by plain SQL, by a task) it is little. */
export function sourceOf(channel: string, known: { source: string } | undefined): string {
  return known?.source ?? (channel === 'runner' ? 'task' : 'sql');
}

export function wireQueued(
  action: ActionView,
  position: number,
  known: { source: string; by: string | null; moreDays: number } | undefined,
) {
  return {
    id: action.id,
    kind: action.kind,
    payload: action.payload,
    status: wireStatus(action.state),
    source: sourceOf(action.channel, known),
    channel: action.channel,
    assignedAt: action.createdAt,
    assignedBy: known?.by ?? action.createdBy,
    moreDays: known?.moreDays ?? 0,
    priority: action.priority,
    attempt: action.attempt,
    maxAttempts: action.maxAttempts,
    position,
    waitingFor: action.waitingFor,
    cancelRequested: action.cancelRequested || undefined,
  };
}
