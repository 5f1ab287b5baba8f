import { z } from 'zod';
import { name, time } from '../../http/schemas.ts';
import { ROLES, TOKEN_KINDS, type TokenKind } from '../../tokens/kinds.ts';

const byHand = (Object.keys(TOKEN_KINDS) as TokenKind[]).filter((kind) => TOKEN_KINDS[kind].byHand);

export const idParams = z.strictObject({ id: z.string() });

export const createTokenBody = z.strictObject({
  kind: z.enum(byHand),
  role: z.enum(ROLES).optional(),
  name,
  lanes: z.array(name).min(1).max(1_000).optional().describe('The only lanes a worker token is for.'),
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
export const tokenList = z.strictObject({ tokens: z.array(tokenView) });
export const issuedToken = z.strictObject({ ...fields, token: z.string().describe('The secret.') });
