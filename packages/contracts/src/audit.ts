import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { cursor, limit, name, nextCursor, time } from './values.ts';

const auditLine = z
  .strictObject({
    id: z.string(),
    at: time,
    actor: z.string(),
    act: z.string(),
    target: z.string().nullable(),
    detail: z.unknown(),
  })
  .meta({ id: 'AuditLine' });
const auditPage = z.strictObject({ audit: z.array(auditLine), cursor: nextCursor }).meta({ id: 'AuditPage' });
export type AuditLine = z.infer<typeof auditLine>;

/** Who changed what. */
export const audit = {
  list: endpoint({
    method: 'GET',
    path: '/api/audit',
    summary: 'List changes by operators, newest first',
    query: z.strictObject({
      actor: name.optional(),
      act: name
        .optional()
        .describe('A noun alone matches all its verbs: both `action` and `action.cancel` are valid.'),
      target: name.optional().describe('As shown in the log: `action 12`.'),
      after: time.optional(),
      before: time.optional(),
      cursor: cursor.optional(),
      limit: limit.optional(),
    }),
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: auditPage } },
  }),
};
