import type { ActionEvent, ActionView, ClaimedAction } from '@muster/engine';

/** Actions as they go over the wire: what is not there is left out, times become text. */
export function wireAction(action: ActionView) {
  return {
    id: action.id,
    lane: action.laneName,
    space: action.space,
    channel: action.channel,
    kind: action.kind,
    payload: action.payload,
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
    result: action.result ?? undefined,
    copiedFrom: action.copiedFrom ?? undefined,
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
