import type { HostStatus } from '@muster/contracts/words';
import type { ActionEvent, ClaimedAction, CreatedAction } from '@muster/engine';
import type { Host, Service } from './queries.ts';

/** The words of this door, and its actions on the wire. */
export const CHANNEL = 'control';
/** The name space of the lanes; a lane is named after its service's id. */
export const SPACE = 'service';
/** The tag of all actions of a host: they are found and paused by it. */
export const tagOf = (hostId: string) => `host:${hostId}`;

/** The name, also with an instance appended, under which the agent of a host holds its leases. */
export const holderOf = (hostId: string) => `host:${hostId}`;

export type Status = HostStatus;

const WORDS: Record<string, Status> = { pending: 'queued', claimed: 'running' };
export const statusOf = (state: string | null): Status => WORDS[state ?? ''] ?? (state as Status);
export const stateOf = (status: Status | 'unfinished') =>
  status === 'queued' ? 'pending' : status === 'running' ? 'claimed' : status;

export interface Payload {
  readonly hostId: string;
  readonly serviceId: string;
  readonly unitName: string;
}
export const payloadOf = (action: { payload: unknown }) => action.payload as Payload;

export interface Result {
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
  readonly outputCut?: true | undefined;
}

export function wireHost(host: Host, online: boolean) {
  return {
    id: host.id,
    name: host.name,
    slots: host.slots,
    online,
    lastSeenAt: host.seenAt,
    createdAt: host.createdAt,
  };
}

const serviceFields = ({ id, unitName, displayName, description }: Service) => ({
  id,
  unitName,
  displayName,
  description,
});

export function wireService(service: Service) {
  return { ...serviceFields(service), hostId: service.hostId, createdAt: service.createdAt };
}

/** An action as an agent gets it. */
export function wireLocked(action: ClaimedAction, service: Service) {
  return {
    id: action.id,
    hostId: service.hostId,
    serviceId: service.id,
    kind: action.kind,
    status: 'running' as const,
    startedAt: action.leasedAt,
    requestedAt: action.createdAt,
    service: serviceFields(service),
    attempt: action.attempt,
    leaseUntil: action.leaseUntil,
    priority: action.priority,
    cancelRequested: action.cancelRequested || undefined,
  };
}

/** An action as an operator sees it. */
export function wireAction(action: CreatedAction) {
  const { hostId, serviceId } = payloadOf(action);
  const result = (action.result ?? {}) as Result;
  return {
    id: action.id,
    hostId,
    serviceId,
    kind: action.kind,
    status: statusOf(action.state),
    priority: action.priority,
    attempt: action.attempt,
    maxAttempts: action.maxAttempts,
    headOfLine: action.headOfLine,
    leaseSeconds: action.leaseMs === null ? undefined : action.leaseMs / 1_000,
    requestedAt: action.createdAt,
    requestedBy: action.createdBy,
    startedAt: action.startedAt ?? undefined,
    leaseUntil: action.leaseUntil ?? undefined,
    finishedAt: action.endedAt ?? undefined,
    deliverBy: action.deliverBy ?? undefined,
    cancelRequested: action.cancelRequested || undefined,
    waitingFor: action.waitingFor,
    reason: action.reason ?? undefined,
    exitCode: result.exitCode,
    message: action.error ?? result.message,
    output: result.output,
    outputCut: result.outputCut,
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
