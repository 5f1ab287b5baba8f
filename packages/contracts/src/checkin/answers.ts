import { z } from 'zod';
import { origin, source } from '../fleet/answers.ts';
import { priority, time } from '../values.ts';
import { waitingFor } from '../waiting-for.ts';

/** Response schemas; a test compares every response with them. */
export const status = z
  .enum(['pending', 'sent', 'done', 'failed', 'cancelled', 'expired'])
  .meta({ id: 'DeviceActionStatus' });
export type DeviceActionStatus = z.infer<typeof status>;

export const assigned = z
  .strictObject({
    id: z.string(),
    status,
    position: z.int().nullable().describe('1 is next, 0 is running on the device; null once it has ended.'),
    waitingFor: waitingFor.nullable(),
  })
  .meta({ id: 'AssignedAction' });
export type AssignedAction = z.infer<typeof assigned>;

export const queuedAction = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    name: z.string().optional().describe('The display name, if it is not the kind: the command of a phone.'),
    payload: z.unknown(),
    status,
    source,
    ...origin,
    channel: z.string(),
    assignedAt: time,
    assignedBy: z.string().nullable(),
    moreDays: z.int(),
    priority,
    attempt: z.int(),
    maxAttempts: z.int(),
    position: z.int(),
    waitingFor: waitingFor.nullable(),
    cancelRequested: z.boolean().optional(),
  })
  .meta({ id: 'QueuedAction' });
export type QueuedAction = z.infer<typeof queuedAction>;
export const queue = z.strictObject({ actions: z.array(queuedAction) }).meta({ id: 'Queue' });
export type Queue = z.infer<typeof queue>;

export const deliveredAction = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    payload: z.unknown(),
    attempt: z.int(),
    leaseUntil: time,
    source,
    assignedAt: time,
    milestoneId: z.string().nullable(),
    trigger: z
      .enum(['QUEUE', 'DIRECT'])
      .describe(
        'DIRECT: the device was waiting when the action was assigned. QUEUE: the action waited for the device.',
      ),
    redelivered: z.boolean().optional().describe('This attempt was handed out before.'),
    cancelRequested: z.boolean().optional().describe('An operator cancelled it; a report still counts.'),
  })
  .meta({ id: 'DeliveredAction' });
export type DeliveredAction = z.infer<typeof deliveredAction>;
export const checkedIn = z
  .strictObject({
    action: deliveredAction.nullable(),
    pending: z.int().min(0).max(100).describe('How many actions wait behind it, counted up to 100.'),
    result: z
      .strictObject({
        accepted: z.boolean(),
        status: z.enum([...status.options, 'unknown']),
        reason: z.string().optional(),
      })
      .optional(),
  })
  .meta({ id: 'CheckedIn' });
export type CheckedIn = z.infer<typeof checkedIn>;
