import type { ActionEvent, ActionView, ClaimedAction, CreatedAction } from '@muster/engine';
import { hideFields } from '../../http/hidden-fields.ts';

/** Actions as operators see them: missing values are left out, times become text, secrets are hidden. */
export function wireAction(action: CreatedAction, lane: Pick<ActionView, 'laneName' | 'space'>) {
  const [payload, result] = [hideFields(action.payload), hideFields(action.result ?? undefined)];
  return {
    id: action.id,
    lane: lane.laneName,
    space: lane.space,
    channel: action.channel,
    kind: action.kind,
    payload: payload.shown,
    state: action.state,
    priority: action.priority,
    tags: action.tags,
    attempt: action.attempt,
    failures: action.failures,
    maxAttempts: action.maxAttempts,
    headOfLine: action.headOfLine,
    createdAt: action.createdAt,
    createdBy: action.createdBy,
    notBefore: action.notBefore ?? undefined,
    deliverBy: action.deliverBy ?? undefined,
    deadline: action.deadline ?? undefined,
    worker: action.worker ?? undefined,
    leasedAt: action.leasedAt ?? undefined,
    leaseUntil: action.leaseUntil ?? undefined,
    cancelRequested: action.cancelRequested || undefined,
    waitingFor: action.waitingFor,
    endedAt: action.endedAt ?? undefined,
    reason: action.reason ?? undefined,
    error: action.error ?? undefined,
    result: result.shown,
    copiedFrom: action.copiedFrom ?? undefined,
    hidden: payload.count + result.count || undefined,
  };
}

export function wireClaimed(action: ClaimedAction) {
  return {
    id: action.id,
    kind: action.kind,
    payload: action.payload,
    attempt: action.attempt,
    maxAttempts: action.maxAttempts,
    priority: action.priority,
    tags: action.tags,
    leaseUntil: action.leaseUntil,
    redelivered: action.redelivered || undefined,
    cancelRequested: action.cancelRequested || undefined,
  };
}

export function wireEvent(event: ActionEvent) {
  return {
    type: event.type,
    attempt: event.attempt,
    at: event.at,
    worker: event.worker ?? undefined,
    reason: event.reason ?? undefined,
  };
}
