import { z } from 'zod';

/** Values that many requests and responses share; their descriptions are the sentences for wrong ones. */
const LONGEST_NAME = 200;

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is about
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]+$/u;

export const name = z
  .string()
  .min(1)
  .max(LONGEST_NAME)
  .regex(VISIBLE)
  .describe('text without control characters')
  .meta({ id: 'Name' });
/** Lists continue after the last id of the previous page. A cursor of another form is refused everywhere alike. */
const A_CURSOR = 'a cursor from this list';
export const cursor = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .describe(A_CURSOR)
  .meta({ id: 'Cursor' });
/** For a list that continues after a position in it: an integer of the database. */
export const placeCursor = z
  .string()
  .regex(/^[1-9]\d{0,8}$/)
  .describe(A_CURSOR)
  .meta({ id: 'PlaceCursor' });
/** Null: this was the last page. */
export const nextCursor = z.string().nullable();
export const limit = z.int().min(1).max(500).meta({ id: 'Limit' });
export const time = z.iso.datetime({ offset: true }).meta({ id: 'Time' });
export const wait = z.number().min(0).max(25).describe('Seconds to wait for work.');
export const reason = z.string().max(2_000);
export const priority = z.enum(['normal', 'urgent']).meta({ id: 'Priority' });
export const headOfLine = z.enum(['skip', 'hold']);
/** Dead letters of a device in error are only redriven with this. */
export const clearError = z.boolean().optional().describe('Also clear the error of the device.');
/** The fence: a report, an extension or a release names the attempt that was handed out. */
export const attempt = z.int().min(1).describe('The attempt number that was handed out: the fence.');

/** Ids are opaque: an invalid one is unknown, not wrong. */
export const idParams = z.strictObject({ id: z.string() });
export const pageQuery = z.strictObject({ cursor: cursor.optional(), limit: limit.optional() });
/** For a list of targets that have a name and are online or not. */
export const targetQuery = z.strictObject({
  ...pageQuery.shape,
  text: z.string().min(1).max(200).optional().describe('Part of the name.'),
  online: z.boolean().optional(),
});
export const emptyBody = z.strictObject({});
export const reasonBody = z.strictObject({ reason: reason.optional() }).meta({ id: 'WithReason' });
/** A client that acts for a target with the target's token. */
export const instance = z
  .strictObject({ id: z.string(), version: z.string().nullable(), lastSeenAt: time })
  .meta({ id: 'Instance' });
export type Instance = z.infer<typeof instance>;
export const instances = z
  .array(instance)
  .optional()
  .describe('Only when reading one: the clients that send Muster-Instance with its token, newest first.');
/** For `headers` of an endpoint whose clients hold leases. */
export const INSTANCE = {
  'Muster-Instance':
    'Identifies one of several clients with the same token: 8 to 64 letters, digits, underscores and hyphens. Work held by one is not given to another.',
} as const;
const heldAttempt = z
  .strictObject({
    id: z.string(),
    attempt: z.int(),
    instance: z.string().nullable().describe('Null: a client that does not identify itself.'),
    since: time,
    until: time,
  })
  .meta({ id: 'HeldElsewhere' });
export type HeldElsewhere = z.infer<typeof heldAttempt>;
export const heldElsewhere = z
  .array(heldAttempt)
  .optional()
  .describe('Work held by another client with the same token; not handed out here before its lease ends.');
/** For `headers` of an endpoint that can be repeated safely. */
export const IDEMPOTENCY_KEY = {
  'Idempotency-Key':
    'Repeating a request with the same key creates nothing new: 200 with the existing one. A different request with the key is refused (409).',
} as const;
