import { z } from 'zod';
import { heldElsewhere, instances, nextCursor, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';
import { DEVICE_STATUSES, TASK_REASONS, TASK_STATUSES } from './statuses.ts';

/** Response schemas; a test compares every response with them. */
const count = z.int().min(0);
export const pc = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    slots: z.int(),
    runningCount: count.describe('Devices its runner is working on.'),
    eligibleDeviceCount: count.describe(
      'Its devices that are present and not in error, including busy ones.',
    ),
    target: count.describe('The smaller of slots and eligibleDeviceCount.'),
    freeSlots: count.describe('target - runningCount, or 0.'),
    deviceCount: count,
    errorDeviceCount: count,
    absentDeviceCount: count,
    claimableDeviceCount: count.describe(
      'Devices of the active task that its runner would get now, if it asked.',
    ),
    devicesInError: z.array(z.string()).describe('The first hundred.'),
    namesInError: z.array(z.string()).describe('The names of these, in the same order.'),
    online: z.boolean(),
    lastSeenAt: time.nullable(),
    createdAt: time,
    instances,
  })
  .meta({ id: 'Pc' });
export type Pc = z.infer<typeof pc>;
export const pcPage = z.strictObject({ pcs: z.array(pc), cursor: nextCursor }).meta({ id: 'PcPage' });
export type PcPage = z.infer<typeof pcPage>;
const runningDevice = z
  .strictObject({
    pcId: z.string(),
    deviceId: z.string(),
    deviceName: z.string(),
    taskId: z.string(),
    taskName: z.string(),
    id: z.string().describe('As in /api/actions.'),
    kind: z.string(),
    attempt: count,
    maxAttempts: z.int(),
    startedAt: time,
    timeoutAt: time,
    worker: z.string().nullable(),
    cancelRequested: z.literal(true).optional(),
  })
  .meta({ id: 'RunningDevice' });
export type RunningDevice = z.infer<typeof runningDevice>;
export const runningDevices = z
  .strictObject({
    running: z.array(runningDevice).describe('By PC, then by start time.'),
    more: z.boolean().describe('True if there are more; at most 5,000 are shown.'),
    at: time,
  })
  .meta({ id: 'RunningDevices' });
export type RunningDevices = z.infer<typeof runningDevices>;
export const pcWithToken = z
  .strictObject({ id: z.string(), name: z.string(), runnerToken: z.string() })
  .meta({ id: 'PcWithToken' });
export type PcWithToken = z.infer<typeof pcWithToken>;
export const presentDevices = z
  .strictObject({
    devices: z.array(z.strictObject({ id: z.string(), present: z.boolean() })),
    unknown: z.array(z.string()).describe('Ids that are not devices of this PC.'),
  })
  .meta({ id: 'PresentDevices' });
export type PresentDevices = z.infer<typeof presentDevices>;

export const task = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    kind: z.string(),
    payload: z.unknown(),
    targets: z.union([
      z.strictObject({ deviceCount: count.describe('The distinct devices of its list.') }),
      z.strictObject({ pcIds: z.array(z.string()) }),
      z.strictObject({ tags: z.array(z.string()) }),
      z.strictObject({ all: z.literal(true) }),
    ]),
    status: z.enum(TASK_STATUSES),
    reason: z
      .enum(TASK_REASONS)
      .optional()
      .describe('For a cancelled task: by an operator, or because nothing could be done.'),
    cancelReason: z.string().optional().describe('The reason given by the operator who cancelled it.'),
    waitingFor: waitingFor.optional().describe('For a pending task: the task it waits for.'),
    cancelRequested: z.boolean().optional(),
    maxAttempts: z.int(),
    timeoutSeconds: z.int(),
    retryBackoffSeconds: z.int(),
    deadline: time.nullable(),
    createdAt: time,
    createdBy: z.string().nullable(),
    activatedAt: time.nullable(),
    endedAt: time.nullable(),
    total: count.nullable().describe('Null: its devices are resolved when it becomes active.'),
    counts: z
      .strictObject({ pending: count, running: count, completed: count, failed: count, cancelled: count })
      .describe('They always add up to total.'),
    unsupplied: count.describe('Pending devices that were never handed out.'),
  })
  .meta({ id: 'Task' });
export type Task = z.infer<typeof task>;
export const taskPage = z.strictObject({ tasks: z.array(task), cursor: nextCursor }).meta({ id: 'TaskPage' });
export type TaskPage = z.infer<typeof taskPage>;

const status = z.enum(DEVICE_STATUSES).meta({ id: 'TaskDeviceStatus' });
export type TaskDeviceStatus = z.infer<typeof status>;
const taskDeviceFields = {
  id: z.string().nullable().describe('Null: not handed out.'),
  taskId: z.string(),
  deviceId: z.string(),
  pcId: z.string().nullable().describe('The PC that the device belongs to.'),
  status,
  attempt: count,
  maxAttempts: z.int(),
  reason: z.string().optional(),
  error: z.string().optional(),
  createdAt: time.optional(),
  endedAt: time.optional(),
};
export const taskDeviceLine = z
  .strictObject({
    ...taskDeviceFields,
    deviceName: z.string().optional().describe('Missing: the device is deleted for good.'),
    absentSince: time.optional().describe('Pending, and absent since then according to its PC.'),
    waitingFor: waitingFor.optional().describe('If pending or running: why it has not ended yet.'),
  })
  .meta({ id: 'TaskDeviceLine' });
export type TaskDeviceLine = z.infer<typeof taskDeviceLine>;
export const taskDevicePage = z
  .strictObject({
    taskDevices: z.array(taskDeviceLine),
    cursor: nextCursor,
  })
  .meta({ id: 'TaskDevicePage' });
export type TaskDevicePage = z.infer<typeof taskDevicePage>;
export const taskDevice = z
  .strictObject({
    ...taskDeviceFields,
    startedAt: time.optional(),
    timeoutAt: time.optional(),
    worker: z.string().optional(),
    cancelRequested: z.boolean().optional(),
    result: z.unknown().optional(),
    waitingFor: waitingFor.nullable(),
  })
  .meta({ id: 'TaskDevice' });
export type TaskDevice = z.infer<typeof taskDevice>;
export const taskDeviceEvent = z
  .strictObject({
    type: z.string(),
    attempt: z.int(),
    at: time,
    worker: z.string().optional(),
    reason: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'TaskDeviceEvent' });
export type TaskDeviceEvent = z.infer<typeof taskDeviceEvent>;
export const taskDeviceEvents = z
  .strictObject({ events: z.array(taskDeviceEvent) })
  .meta({ id: 'TaskDeviceEvents' });
export type TaskDeviceEvents = z.infer<typeof taskDeviceEvents>;

export const claimedDevice = z
  .strictObject({
    id: z.string(),
    taskId: z.string(),
    deviceId: z.string(),
    pcId: z.string(),
    kind: z.string(),
    attempt: z.int().min(1),
    maxAttempts: z.int(),
    status: z.literal('running'),
    startedAt: time,
    timeoutAt: time,
    payload: z.unknown(),
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'ClaimedDevice' });
export type ClaimedDevice = z.infer<typeof claimedDevice>;
export const claimed = z.strictObject({ taskDevices: z.array(claimedDevice) }).meta({ id: 'ClaimedDevices' });
export type ClaimedDevices = z.infer<typeof claimed>;
export const heldDevices = z
  .strictObject({ taskDevices: z.array(claimedDevice), heldElsewhere })
  .meta({ id: 'HeldDevices' });
export type HeldDevices = z.infer<typeof heldDevices>;
const verdict = {
  accepted: z.boolean(),
  status,
  reason: z.string().optional(),
};
export const reported = z
  .strictObject({
    ...verdict,
    taskDevices: z.array(claimedDevice).optional().describe('The next work, if requested.'),
  })
  .meta({ id: 'TaskDeviceReported' });
export type TaskDeviceReported = z.infer<typeof reported>;
export const acknowledged = z.strictObject(verdict).meta({ id: 'TaskDeviceAcknowledged' });
export type TaskDeviceAcknowledged = z.infer<typeof acknowledged>;
export const heartbeat = z
  .strictObject({
    ...verdict,
    timeoutAt: time.optional().describe('Heartbeats do not move it.'),
    cancelRequested: z.boolean().optional().describe('Stop it; any report then ends it.'),
  })
  .meta({ id: 'TaskDeviceHeartbeat' });
export type TaskDeviceHeartbeat = z.infer<typeof heartbeat>;

const heldBeat = z
  .strictObject({
    id: z.string(),
    attempt: z.int(),
    running: z.boolean().describe('False: the server no longer waits for this attempt.'),
    timeoutAt: time.optional(),
    cancelRequested: z.boolean().optional().describe('Stop it; any report then ends it.'),
  })
  .meta({ id: 'HeldDeviceBeat' });
export type HeldDeviceBeat = z.infer<typeof heldBeat>;
export const pcHeartbeat = z.strictObject({ taskDevices: z.array(heldBeat) }).meta({ id: 'PcHeartbeat' });
export type PcHeartbeat = z.infer<typeof pcHeartbeat>;
