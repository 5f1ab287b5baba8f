import { z } from 'zod';
import { nextCursor, time } from '../values.ts';
import { ROLES } from './kinds.ts';

/** Response schemas; a test compares every response with them. */
const fields = {
  id: z.string(),
  kind: z.string(),
  role: z.enum(ROLES).optional(),
  name: z.string(),
  restriction: z.unknown().optional(),
  createdAt: time,
  createdBy: z.string().nullable(),
  replaces: z.string().optional().describe('The token that this one replaces when first used.'),
  firstUsedAt: time.optional(),
  revokedAt: time.optional(),
};

export const token = z.strictObject(fields).meta({ id: 'Token' });
export type Token = z.infer<typeof token>;
export const tokenPage = z
  .strictObject({ tokens: z.array(token), cursor: nextCursor })
  .meta({ id: 'TokenPage' });
export type TokenPage = z.infer<typeof tokenPage>;
export const issuedToken = z
  .strictObject({ ...fields, token: z.string().describe('The secret.') })
  .meta({ id: 'IssuedToken' });
export type IssuedToken = z.infer<typeof issuedToken>;
