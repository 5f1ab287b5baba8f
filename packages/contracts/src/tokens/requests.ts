import { z } from 'zod';
import { cursor, limit, name } from '../values.ts';
import { KINDS, KINDS_BY_HAND, ROLES } from './kinds.ts';

/** Request schemas. */
export const newToken = z
  .strictObject({
    kind: z.enum(KINDS_BY_HAND),
    role: z.enum(ROLES).optional(),
    name,
    lanes: z.array(name).min(1).max(1_000).optional().describe('The only lanes a worker token may use.'),
    tags: z
      .array(name)
      .max(100)
      .optional()
      .describe('Tags for every device that enrols with this device-enrolment token.'),
    reEnrol: z
      .boolean()
      .optional()
      .describe(
        'Whether a device with a known externalId may enrol again with this device-enrolment token; its old registration ends.',
      ),
  })
  .meta({ id: 'NewToken' });
export type NewToken = z.infer<typeof newToken>;

export const listQuery = z.strictObject({
  kind: z.enum(KINDS).optional().describe('By default the tokens that were created by hand.'),
  cursor: cursor.optional(),
  limit: limit.optional(),
});
