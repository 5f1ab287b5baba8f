import { z } from 'zod';
import { cursor, name, time } from '../../http/schemas.ts';
import { KINDS, KINDS_BY_HAND, ROLES } from '../../tokens/kinds.ts';

export const idParams = z.strictObject({ id: z.string() });

export const createTokenBody = z.strictObject({
  kind: z.enum(KINDS_BY_HAND),
  role: z.enum(ROLES).optional(),
  name,
  lanes: z.array(name).min(1).max(1_000).optional().describe('The only lanes a worker token is for.'),
  tags: z
    .array(name)
    .max(100)
    .optional()
    .describe('Given to every device that comes with this device-enrolment token.'),
  reEnrol: z
    .boolean()
    .optional()
    .describe(
      'Whether a device with a known externalId may come again with this device-enrolment token; its old self ends.',
    ),
});

const fields = {
  id: z.string(),
  kind: z.string(),
  role: z.enum(ROLES).optional(),
  name: z.string(),
  restriction: z.unknown().optional(),
  createdAt: time,
  createdBy: z.string().nullable(),
  replaces: z.string().optional().describe('The token that ends when this one is first used.'),
  firstUsedAt: time.optional(),
  revokedAt: time.optional(),
};

export const tokenView = z.strictObject(fields);
export const listQuery = z.strictObject({
  kind: z.enum(KINDS).optional().describe('Without it those that were issued by hand.'),
  cursor: cursor.optional(),
  limit: z.int().min(1).max(500).optional(),
});
export const tokenList = z.strictObject({ tokens: z.array(tokenView), cursor: z.string().nullable() });
export const issuedToken = z.strictObject({ ...fields, token: z.string().describe('The secret.') });
