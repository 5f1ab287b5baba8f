import { z } from 'zod';
import { cursor } from '../values.ts';
import { CALLBACK_STATES } from './states.ts';

/** What comes in, as the client of QStash sends it. */
export const batchBody = z
  .array(
    z.looseObject({
      destination: z.string(),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.string().optional(),
      queue: z.string().optional(),
    }),
  )
  .min(1)
  .max(100)
  .meta({ id: 'CallbackBatch' });
export type CallbackBatch = z.infer<typeof batchBody>;

const ids = z.union([z.string(), z.array(z.string()).max(1_000)]).optional();
const count = z.int().min(1).max(1_000).optional();

export const cancelQuery = z.strictObject({ messageIds: ids, label: z.string().optional(), count });
export const letterQuery = z.strictObject({ dlqIds: ids, count, cursor: cursor.optional() });
export const eventQuery = z.strictObject({
  messageId: z.string().optional(),
  messageIds: ids,
  state: z.enum(CALLBACK_STATES).optional(),
  label: z.string().optional(),
  count,
  cursor: cursor.optional(),
});
