import { z } from 'zod';
import { time } from '../http/schemas.ts';
import { MILESTONES } from './milestone-types.ts';

/** What goes out, for the published description; a test compares every answer with it. */
export const source = z.enum(['assign', 'workflow', 'batch', 'task', 'sql']);

const deviceFields = {
  id: z.string(),
  name: z.string(),
  externalId: z.string().nullable(),
  tags: z.array(z.string()),
  state: z.enum(['ok', 'error']),
  stateReason: z.string().optional(),
  online: z.boolean(),
  lastSeenAt: time.nullable(),
  queueDepth: z.int().describe('Unfinished actions that wait, up to 1000.'),
  current: z
    .strictObject({
      id: z.string(),
      kind: z.string(),
      attempt: z.int(),
      sentAt: time,
      leaseUntil: time,
      cancelRequested: z.boolean().optional(),
    })
    .nullable()
    .describe('The action that the device has at the moment.'),
  expiresAt: time.nullable(),
  projectedExpiresAt: time.nullable().describe('If every unfinished action succeeds.'),
  pcId: z.string().nullable(),
  absent: z.literal(true).optional().describe('Its PC has said that it is not there.'),
  ack: z.enum(['onReport', 'onDelivery']),
  createdAt: time,
};
export const device = z.strictObject(deviceFields);
export const deviceWithToken = z.strictObject({ ...deviceFields, deviceToken: z.string() });
export const devicePage = z.strictObject({ devices: z.array(device), cursor: z.string().nullable() });
export const newToken = z.strictObject({ id: z.string(), name: z.string(), deviceToken: z.string() });

export const milestones = z.strictObject({
  milestones: z.array(
    z.strictObject({
      id: z.string(),
      type: z.enum(MILESTONES),
      actionId: z.string().nullable(),
      source: source.nullable(),
      by: z.string().nullable(),
      at: time,
      moreDays: z.int(),
      expiresAt: time.nullable(),
      projectedExpiresAt: time.nullable(),
    }),
  ),
  cursor: z.string().nullable(),
});
