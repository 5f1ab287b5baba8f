import { z } from 'zod';
import { cursor } from '../values.ts';
import { CALLBACK_STATES } from './states.ts';

/** Request schemas, as the client of QStash sends them. */
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

const id = z.string().min(1);
const ids = z.union([id, z.array(id).max(1_000)]).optional();
const label = z.string().min(1).optional();
const count = z.int().min(1).max(1_000).optional();

export const cancelQuery = z.strictObject({ messageIds: ids, label, count, cursor: cursor.optional() });
export const letterQuery = z.strictObject({ dlqIds: ids, count, cursor: cursor.optional() });
export const eventQuery = z.strictObject({
  messageId: z.string().optional(),
  messageIds: ids,
  state: z.enum(CALLBACK_STATES).optional(),
  label,
  count,
  cursor: cursor.optional(),
});

/** Older clients (2.8) name ids in the body; no other field is understood there, and an empty list means none. */
const inBody = z.array(id).max(1_000).optional();
export const cancelBody = z.strictObject({ messageIds: inBody }).meta({ id: 'CancelCallbacks' });
export const letterBody = z.strictObject({ dlqIds: inBody }).meta({ id: 'DeadLetters' });
