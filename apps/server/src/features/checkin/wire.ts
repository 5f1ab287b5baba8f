import type { ActionState, ActionView } from '@muster/engine';
import { hideFields } from '../../http/hidden-fields.ts';

/** Actions of devices in the words of this door. */
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

/**
 * Where the action came from. An action that was not queued through this door (plain SQL, a task) has only its channel.
 */
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
    payload: hideFields(action.payload).shown,
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
