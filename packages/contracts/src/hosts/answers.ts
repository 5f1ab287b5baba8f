import { z } from 'zod';
import { actionEvent } from '../events.ts';
import { headOfLine, heldElsewhere, instances, nextCursor, priority, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';
import { HOST_STATUSES } from './statuses.ts';

/** Response schemas; a test compares every response with them. */
const status = z.enum(HOST_STATUSES).meta({ id: 'HostActionStatus' });

export const host = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    slots: z.int().nullable(),
    online: z.boolean(),
    lastSeenAt: time.nullable(),
    createdAt: time,
    instances,
  })
  .meta({ id: 'Host' });
export type Host = z.infer<typeof host>;
export const hostPage = z.strictObject({ hosts: z.array(host), cursor: nextCursor }).meta({ id: 'HostPage' });
export type HostPage = z.infer<typeof hostPage>;
export const hostWithToken = z
  .strictObject({ id: z.string(), name: z.string(), agentToken: z.string() })
  .meta({ id: 'HostWithToken' });
export type HostWithToken = z.infer<typeof hostWithToken>;

const serviceFields = {
  id: z.string(),
  unitName: z.string(),
  displayName: z.string(),
  description: z.string(),
};
export const service = z
  .strictObject({ ...serviceFields, hostId: z.string(), createdAt: time })
  .meta({ id: 'Service' });
export type Service = z.infer<typeof service>;
export const serviceList = z.strictObject({ services: z.array(service) }).meta({ id: 'ServiceList' });
export type ServiceList = z.infer<typeof serviceList>;

const actionFields = {
  id: z.string(),
  hostId: z.string(),
  serviceId: z.string(),
  kind: z.string(),
  status,
  priority,
  attempt: z.int().min(0),
  maxAttempts: z.int(),
  headOfLine,
  leaseSeconds: z.int().optional().describe('If it has its own.'),
  requestedAt: time,
  requestedBy: z.string().nullable(),
  startedAt: time.optional(),
  leaseUntil: time.optional(),
  finishedAt: time.optional(),
  deliverBy: time.optional(),
  cancelRequested: z.boolean().optional(),
  waitingFor: waitingFor.nullable(),
  reason: z.string().optional(),
  exitCode: z.int().optional(),
  message: z.string().optional(),
  output: z.string().optional(),
  outputCut: z.boolean().optional(),
};
export const action = z.strictObject(actionFields).meta({ id: 'HostAction' });
export type HostAction = z.infer<typeof action>;
export const actionWithEvents = z
  .strictObject({
    ...actionFields,
    events: z.array(actionEvent),
  })
  .meta({ id: 'HostActionWithEvents' });
export type HostActionWithEvents = z.infer<typeof actionWithEvents>;
export const actionPage = z
  .strictObject({ actions: z.array(action), cursor: nextCursor })
  .meta({ id: 'HostActionPage' });
export type HostActionPage = z.infer<typeof actionPage>;

export const lockedAction = z
  .strictObject({
    id: z.string(),
    hostId: z.string(),
    serviceId: z.string(),
    kind: z.string(),
    status: z.literal('running'),
    startedAt: time,
    requestedAt: time,
    service: z.strictObject(serviceFields),
    attempt: z.int().min(1),
    leaseUntil: time,
    priority,
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'LockedAction' });
export type LockedAction = z.infer<typeof lockedAction>;
export const lockedActions = z.strictObject({ actions: z.array(lockedAction) }).meta({ id: 'LockedActions' });
export type LockedActions = z.infer<typeof lockedActions>;
export const heldActions = z
  .strictObject({ actions: z.array(lockedAction), heldElsewhere })
  .meta({ id: 'HeldActions' });
export type HeldActions = z.infer<typeof heldActions>;
export const reportAnswer = z
  .strictObject({
    accepted: z.boolean(),
    status,
    reason: z.string().optional(),
    actions: z.array(lockedAction).optional(),
  })
  .meta({ id: 'HostReported' });
export type HostReported = z.infer<typeof reportAnswer>;
export const beat = z
  .strictObject({
    id: z.string(),
    attempt: z.int(),
    status: z
      .enum([...HOST_STATUSES, 'unknown'])
      .describe('The status of the action; its running attempt may be a different one.'),
    extended: z.boolean(),
    leaseUntil: time.optional(),
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'Beat' });
export type Beat = z.infer<typeof beat>;
export const heartbeatAnswer = z.strictObject({ actions: z.array(beat) }).meta({ id: 'Heartbeat' });
export type Heartbeat = z.infer<typeof heartbeatAnswer>;

const stuckAction = z
  .strictObject({
    actionId: z.string(),
    serviceId: z.string(),
    attempt: z.int(),
    startedAt: time,
    leaseUntil: time,
  })
  .meta({ id: 'StuckAction' });
export type StuckAction = z.infer<typeof stuckAction>;
const loadFields = {
  id: z.string(),
  name: z.string(),
  online: z.boolean(),
  lastSeenAt: time.nullable(),
  queued: z.int(),
  running: z.int(),
  oldestQueuedAt: time.nullable(),
  stuck: z.array(stuckAction),
};
export const load = z.strictObject(loadFields).meta({ id: 'HostLoad' });
export type HostLoad = z.infer<typeof load>;
const times = z.strictObject({ p50: z.int(), p99: z.int(), most: z.int() }).meta({ id: 'Times' });
export type Times = z.infer<typeof times>;
export const loadPage = z
  .strictObject({ hosts: z.array(load), cursor: nextCursor })
  .meta({ id: 'HostLoadPage' });
export type HostLoadPage = z.infer<typeof loadPage>;
export const loadWithTimes = z
  .strictObject({
    ...loadFields,
    finished: z
      .strictObject({ actions: z.int(), handOutMs: times, processingMs: times })
      .nullable()
      .describe('Over the last hundred actions that ended with a report.'),
  })
  .meta({ id: 'HostLoadWithTimes' });
export type HostLoadWithTimes = z.infer<typeof loadWithTimes>;
