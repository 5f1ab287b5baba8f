import { api } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';

/** The audit log: who changed what. */
export const auditRoutes: CreateFeature = ({ audit, db }) => ({
  name: 'audit',
  routes: [
    defineRoute(api.audit.list, {
      access: operators('admin'),
      async handler({ caller, query }) {
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => audit.list(db, caller.tenantId, { before: query.cursor, limit }, query),
          (row) => row.id,
        );
        return { audit: items, cursor };
      },
    }),
  ],
});
