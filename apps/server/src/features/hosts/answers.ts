import { z } from 'zod';
import { STATUSES } from './schemas.ts';

/** What goes out, for the published description; a test compares every answer with it. */
const time = z.iso.datetime({ offset: true });
const status = z.enum(STATUSES);

export const host = z.strictObject({
  id: z.string(),
  name: z.string(),
  slots: z.int().nullable(),
  online: z.boolean(),
  lastSeenAt: time.nullable(),
  createdAt: time,
});
export const hosts = z.strictObject({ hosts: z.array(host), cursor: z.string().nullable() });
export const hostWithToken = z.strictObject({ id: z.string(), name: z.string(), agentToken: z.string() });

const serviceFields = {
  id: z.string(),
  unitName: z.string(),
  displayName: z.string(),
  description: z.string(),
};
export const service = z.strictObject({ ...serviceFields, hostId: z.string(), createdAt: time });
export const services = z.strictObject({ services: z.array(service) });

const actionFields = {
  id: z.string(),
  hostId: z.string(),
  serviceId: z.string(),
  kind: z.string(),
  status,
  priority: z.enum(['normal', 'urgent']),
  attempt: z.int().min(0),
  maxAttempts: z.int(),
  requestedAt: time,
  requestedBy: z.string().nullable(),
  startedAt: time.optional(),
  leaseUntil: time.optional(),
  finishedAt: time.optional(),
  deliverBy: time.optional(),
  cancelRequested: z.boolean().optional(),
  waitingFor: z
    .strictObject({
      code: z.string(),
      text: z.string(),
      until: time.optional(),
      actionId: z.string().optional(),
    })
    .nullable(),
  reason: z.string().optional(),
  exitCode: z.int().optional(),
  message: z.string().optional(),
  output: z.string().optional(),
  outputCut: z.boolean().optional(),
};
export const action = z.strictObject(actionFields);
export const actionWithEvents = z.strictObject({
  ...actionFields,
  events: z.array(
    z.strictObject({
      type: z.string(),
      attempt: z.int(),
      at: time,
      worker: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
});
export const actions = z.strictObject({ actions: z.array(action), cursor: z.string().nullable() });

export const lockedAction = z.strictObject({
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
  priority: z.enum(['normal', 'urgent']),
  cancelRequested: z.boolean().optional(),
});
export const lockedActions = z.strictObject({ actions: z.array(lockedAction) });
export const reportAnswer = z.strictObject({
  accepted: z.boolean(),
  status,
  reason: z.string().optional(),
  actions: z.array(lockedAction).optional(),
});
export const heartbeatAnswer = z.strictObject({
  actions: z.array(
    z.strictObject({
      id: z.string(),
      attempt: z.int(),
      status: z
        .enum([...STATUSES, 'unknown'])
        .describe('Of the action, whose running attempt may be another one.'),
      extended: z.boolean(),
      leaseUntil: time.optional(),
      cancelRequested: z.boolean().optional(),
    }),
  ),
});

const load = {
  id: z.string(),
  name: z.string(),
  online: z.boolean(),
  lastSeenAt: time.nullable(),
  queued: z.int(),
  running: z.int(),
  oldestQueuedAt: time.nullable(),
  stuck: z.array(
    z.strictObject({
      actionId: z.string(),
      serviceId: z.string(),
      attempt: z.int(),
      startedAt: time,
      leaseUntil: time,
    }),
  ),
};
const times = z.strictObject({ p50: z.int(), p99: z.int(), most: z.int() });
export const loads = z.strictObject({ hosts: z.array(z.strictObject(load)), cursor: z.string().nullable() });
export const loadWithTimes = z.strictObject({
  ...load,
  finished: z
    .strictObject({ actions: z.int(), handOutMs: times, processingMs: times })
    .nullable()
    .describe('Of the last hundred actions that ended by a report.'),
});
