import { z } from 'zod';
import { pageQuery } from '../values.ts';
import { BOT_STATUSES, ORDER_STATUSES, ORDER_TYPES } from './statuses.ts';

/** Request schemas. */
const uuid = z
  .string()
  .regex(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/)
  .describe('a UUID')
  .meta({ id: 'Uuid' });
const restored = z.null().describe('null, which restores a deleted one; to delete one, send DELETE');

export const orderBody = z
  .strictObject({
    type: z.enum(ORDER_TYPES),
    userId: uuid.nullable().optional().describe('The customer of the order; only stored.'),
  })
  .meta({ id: 'NewOrder' });
export type NewOrder = z.infer<typeof orderBody>;

export const orderPatch = z
  .strictObject({
    status: z.enum(ORDER_STATUSES).optional(),
    botId: uuid.nullable().optional().describe('With PROCESSING: the bot that gets it, ahead of all others.'),
    deletedAt: restored.optional(),
  })
  .meta({ id: 'OrderPatch' });
export type OrderPatch = z.infer<typeof orderPatch>;

/** An endpoint without fields refuses any, because a client that sends some expects an effect. */
export const noFields = z.strictObject({}).meta({ id: 'NoFields' });

/** For orders and bots alike. */
export const listQuery = z.strictObject({
  ...pageQuery.shape,
  deleted: z.boolean().optional().describe('Only deleted ones that can still be restored.'),
});

export const orderListQuery = z.strictObject({
  ...listQuery.shape,
  status: z
    .enum(ORDER_STATUSES)
    .optional()
    .describe('Only orders with this status, in the order of the whole list.'),
});

export const botListQuery = z.strictObject({ ...listQuery.shape, status: z.enum(BOT_STATUSES).optional() });

/** The attempt it is about: an earlier one changes nothing. */
export const completion = z.strictObject({ orderId: z.string(), botId: z.string(), attempt: z.int().min(1) });

export const botPatch = z
  .strictObject({
    status: z.enum(BOT_STATUSES).optional(),
    currentOrderId: z.null().optional(),
    deletedAt: restored.optional(),
  })
  .meta({ id: 'BotPatch' });
export type BotPatch = z.infer<typeof botPatch>;
