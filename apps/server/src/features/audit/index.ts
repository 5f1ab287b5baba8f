import { z } from 'zod';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { cursor, time } from '../../http/schemas.ts';

const PAGE = 100;

/** Who changed what. */
export const auditRoutes: CreateFeature = ({ audit, db }) => ({
  name: 'audit',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/audit',
      access: operators('admin'),
      summary: 'What operators changed, newest first',
      query: z.strictObject({
        cursor: cursor.optional(),
        limit: z.int().min(1).max(500).optional(),
      }),
      responses: {
        200: {
          description: 'A page; its cursor leads to the next one.',
          schema: z.strictObject({
            audit: z.array(
              z.strictObject({
                id: z.string(),
                at: time,
                actor: z.string(),
                act: z.string(),
                target: z.string().nullable(),
                detail: z.unknown(),
              }),
            ),
            cursor: z.string().nullable(),
          }),
        },
      },
      async handler({ caller, query: { cursor, limit = PAGE } }) {
        const rows = await audit.list(db, caller.tenantId, { before: cursor, limit: limit + 1 });
        const page = rows.slice(0, limit);
        return { audit: page, cursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
      },
    }),
  ],
});
