import { api } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';

const PAGE = 100;

/** Who changed what. */
export const auditRoutes: CreateFeature = ({ audit, db }) => ({
  name: 'audit',
  routes: [
    defineRoute(api.audit.list, {
      access: operators('admin'),
      async handler({ caller, query: { cursor, limit = PAGE } }) {
        const rows = await audit.list(db, caller.tenantId, { before: cursor, limit: limit + 1 });
        const page = rows.slice(0, limit);
        return { audit: page, cursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
      },
    }),
  ],
});
