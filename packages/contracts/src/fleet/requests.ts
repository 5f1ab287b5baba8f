import { z } from 'zod';
import { cursor, headOfLine, limit, name, priority, time } from '../values.ts';

/** Request schemas, also for the targets and actions of batches and workflows. */
export const tags = z.array(name).max(100);
const pcId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .describe('the id of a PC');
export const ack = z
  .enum(['onReport', 'onDelivery'])
  .describe('onDelivery: the action succeeds when it is handed out. For devices that never report.');

export const newDevice = z
  .strictObject({
    name,
    externalId: name.optional(),
    tags: tags.optional(),
    expiresAt: time.optional(),
    pcId: pcId.optional(),
    ack: ack.optional(),
  })
  .meta({ id: 'NewDevice' });
export type NewDevice = z.infer<typeof newDevice>;
export const enrolBody = z
  .strictObject({ name, externalId: name.optional(), tags: tags.optional() })
  .meta({ id: 'DeviceEnrolment' });
export type DeviceEnrolment = z.infer<typeof enrolBody>;

export const updateBody = z
  .strictObject({
    name: name.optional(),
    externalId: name.nullable().optional(),
    tags: tags.optional(),
    expiresAt: time.nullable().optional(),
    pcId: pcId.nullable().optional(),
    ack: ack.optional(),
  })
  .meta({ id: 'DeviceChange' });
export type DeviceChange = z.infer<typeof updateBody>;

export const listQuery = z.strictObject({
  text: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Part of the name, externalId, serial number, model or OS version.'),
  tag: z
    .union([name, z.array(name)])
    .optional()
    .describe('If repeated, devices must have all of them.'),
  state: z.enum(['ok', 'error']).optional(),
  online: z.boolean().optional(),
  pcId: pcId.optional(),
  cursor: cursor.optional(),
  limit: limit.optional(),
});

export const deviceAction = z
  .strictObject({
    kind: name,
    payload: z.unknown().optional(),
    moreDays: z
      .int()
      .min(-36_500)
      .max(36_500)
      .optional()
      .describe('Moves the expiry of the device on success.'),
    priority: priority.optional(),
    notBefore: time.optional(),
    deliverBy: time.optional(),
    deadline: time.optional(),
    maxAttempts: z.int().min(1).max(1_000).optional(),
    headOfLine: headOfLine.optional(),
    supersede: z
      .strictObject({ key: name, mode: z.enum(['keep-first', 'replace', 'append']).optional() })
      .optional(),
    ack: ack.optional(),
  })
  .meta({ id: 'DeviceAction' });
export type DeviceAction = z.infer<typeof deviceAction>;

/** Exactly one of the three. */
export const targets = z
  .union([
    z.strictObject({ deviceIds: z.array(z.string()).min(1).max(1_000_000) }),
    z.strictObject({ tags: tags.min(1).describe('Devices that have all of them.') }),
    z.strictObject({ all: z.literal(true) }),
  ])
  .meta({ id: 'Targets' });
export type Targets = z.infer<typeof targets>;

export const countBody = z.strictObject({ targets }).meta({ id: 'DeviceCount' });
export type DeviceCount = z.infer<typeof countBody>;
