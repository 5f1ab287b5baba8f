import { z } from 'zod';
import { refusal } from '../refusal.ts';
import { nextCursor, time } from '../values.ts';
import { BOT_STATUSES, COMPLETION_REASONS, ORDER_STATUSES, ORDER_TYPES } from './statuses.ts';

/** Response schemas; a test compares every response with them. */
export const order = z
  .strictObject({
    id: z.string(),
    orderNumber: z.int(),
    type: z.enum(ORDER_TYPES),
    status: z.enum(ORDER_STATUSES),
    userId: z.string().nullable(),
    botId: z.string().nullable().describe('The bot that processes or processed it.'),
    createdAt: time,
    processingStartedAt: time.nullable(),
    processingEndsAt: time.nullable().describe('While PROCESSING: when it becomes COMPLETE.'),
    completedAt: time.nullable(),
    completionReason: z
      .enum(COMPLETION_REASONS)
      .nullable()
      .describe(
        'What completed it: the callback at the end of its time, the end of its lease if none came, or a person.',
      ),
    updatedAt: time,
    deletedAt: time.nullable(),
  })
  .meta({ id: 'Order' });
export type Order = z.infer<typeof order>;
export const orderPage = z
  .strictObject({ orders: z.array(order), cursor: nextCursor })
  .meta({ id: 'OrderPage' });
export type OrderPage = z.infer<typeof orderPage>;
export const cleared = z.strictObject({ cleared: z.int() }).meta({ id: 'ClearedOrders' });

export const completed = z.strictObject({ message: z.string() }).meta({ id: 'CompletedOrder' });

export const bot = z
  .strictObject({
    id: z.string(),
    number: z.int().describe('The number in its name (bot 4). It never changes and is never reused.'),
    status: z.enum(BOT_STATUSES),
    currentOrderId: z.string().nullable(),
    currentOrderNumber: z.int().nullable(),
    processingStartedAt: time.nullable().describe('While PROCESSING: since when.'),
    processingEndsAt: time.nullable().describe('While PROCESSING: when its order becomes COMPLETE.'),
    createdAt: time,
    updatedAt: time,
    deletedAt: time.nullable(),
  })
  .meta({ id: 'Bot' });
export type Bot = z.infer<typeof bot>;
export const newBot = bot.extend({ botToken: z.string().describe('Shown once.') }).meta({ id: 'NewBot' });
export const botToken = z.strictObject({ id: z.string(), botToken: z.string() }).meta({ id: 'BotToken' });
export const botPage = z.strictObject({ bots: z.array(bot), cursor: nextCursor }).meta({ id: 'BotPage' });
export type BotPage = z.infer<typeof botPage>;
const botBusy = refusal.extend({ code: z.literal('BOT_BUSY'), order }).meta({ id: 'BotBusy' });
export const notClaimed = z.union([botBusy, refusal]);
