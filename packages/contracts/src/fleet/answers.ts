import { z } from 'zod';
import { POLICIES } from '../pipeline/policies.ts';
import { instances, nextCursor, time } from '../values.ts';
import { MILESTONE_TYPES } from './milestone-types.ts';

/** Response schemas; a test compares every response with them. */
export const source = z
  .enum(['assign', 'workflow', 'batch', 'task', 'pipeline', 'mdm', 'sql'])
  .meta({ id: 'ActionSource' });
export type ActionSource = z.infer<typeof source>;

/** What created an action of a device, if it was not an operator. */
export const origin = {
  workflow: z
    .strictObject({ id: z.string(), name: z.string(), runId: z.string() })
    .optional()
    .describe('The workflow that created it, and the run.'),
  batch: z.strictObject({ id: z.string() }).optional().describe('Its batch.'),
};

const currentAction = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    name: z.string().optional().describe('The display name, if it is not the kind; as in /api/actions.'),
    attempt: z.int(),
    sentAt: time,
    leaseUntil: time,
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'CurrentAction' });
export type CurrentAction = z.infer<typeof currentAction>;
const deviceFields = {
  id: z.string(),
  name: z.string(),
  externalId: z.string().nullable(),
  tags: z.array(z.string()),
  state: z.enum(['ok', 'error']),
  stateReason: z.string().optional(),
  online: z.boolean(),
  lastSeenAt: time.nullable(),
  queueDepth: z.int().describe('Waiting actions, counted up to 1000.'),
  pausedAt: time.optional().describe('Its lane is paused since then: nothing more is handed out.'),
  pausedBy: z.string().optional().describe('Who paused its lane.'),
  current: currentAction.nullable().describe('The action running on the device.'),
  expiresAt: time.nullable(),
  projectedExpiresAt: time.nullable().describe('If every unfinished action succeeds.'),
  pcId: z.string().nullable(),
  absent: z.literal(true).optional().describe('Its PC reported it absent.'),
  absentSince: time.optional().describe('When its PC reported it absent.'),
  ack: z.enum(['onReport', 'onDelivery']),
  createdAt: time,
  instances,
};
export const device = z.strictObject(deviceFields).meta({ id: 'Device' });
export type Device = z.infer<typeof device>;
export const deviceWithToken = z
  .strictObject({ ...deviceFields, deviceToken: z.string() })
  .meta({ id: 'DeviceWithToken' });
export type DeviceWithToken = z.infer<typeof deviceWithToken>;
export const devicePage = z
  .strictObject({ devices: z.array(device), cursor: nextCursor })
  .meta({ id: 'DevicePage' });
export type DevicePage = z.infer<typeof devicePage>;
export const newToken = z
  .strictObject({ id: z.string(), name: z.string(), deviceToken: z.string() })
  .meta({ id: 'DeviceToken' });
export type DeviceToken = z.infer<typeof newToken>;

export const milestone = z
  .strictObject({
    id: z.string(),
    type: z.enum(MILESTONE_TYPES),
    actionId: z.string().nullable(),
    source: source.nullable(),
    by: z.string().nullable(),
    at: time,
    moreDays: z.int(),
    expiresAt: time.nullable(),
    projectedExpiresAt: time.nullable(),
    policy: z.enum(POLICIES).optional().describe('For policyChanged: the new policy of the device.'),
  })
  .meta({ id: 'Milestone' });
export type Milestone = z.infer<typeof milestone>;
export const milestonePage = z
  .strictObject({ milestones: z.array(milestone), cursor: nextCursor })
  .meta({ id: 'MilestonePage' });
export type MilestonePage = z.infer<typeof milestonePage>;

export const countedDevices = z.strictObject({ count: z.int().min(0) }).meta({ id: 'CountedDevices' });
export type CountedDevices = z.infer<typeof countedDevices>;
