import { z } from 'zod';
import { BOT_STATUSES, ORDER_STATUSES, ORDER_TYPES } from './statuses.ts';

/** What comes in. */
const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .describe('a UUID in lower case')
  .meta({ id: 'Uuid' });
const restored = z.null().describe('Only null: what was deleted is there again.');

export const orderBody = z
  .strictObject({
    type: z.enum(ORDER_TYPES),
    userId: uuid.nullable().optional().describe('Whose order it is; nothing is looked up by it.'),
  })
  .meta({ id: 'NewOrder' });
export type NewOrder = z.infer<typeof orderBody>;

export const orderPatch = z
  .strictObject({
    status: z.enum(ORDER_STATUSES).optional(),
    botId: uuid
      .nullable()
      .optional()
      .describe('With PROCESSING: the bot that gets it, whatever is before it.'),
    deletedAt: restored.optional(),
  })
  .meta({ id: 'OrderPatch' });
export type OrderPatch = z.infer<typeof orderPatch>;

/** Of which claim it is: an earlier one changes nothing. */
export const completion = z.strictObject({ orderId: z.string(), botId: z.string(), attempt: z.int().min(1) });

export const botPatch = z
  .strictObject({
    status: z.enum(BOT_STATUSES).optional(),
    currentOrderId: z.null().optional(),
    deletedAt: restored.optional(),
  })
  .meta({ id: 'BotPatch' });
export type BotPatch = z.infer<typeof botPatch>;
