import { api } from '@muster/contracts';
import { TENANT_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { wholeInstallation } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { created } from '../../http/replies.ts';
import { tenantError } from '../../tenants/errors.ts';
import { createTenantQueries, type Tenant } from '../../tenants/queries.ts';

/** Admins of the default tenant create and list tenants. Tokens belong to the tokens feature. */
const admins = wholeInstallation('admin');

export const tenants: CreateFeature = ({ audit, db, engine }) => {
  const queries = createTenantQueries(engine.schema);
  return {
    name: 'tenants',
    errors: TENANT_ERRORS,
    routes: [
      defineRoute(api.tenants.create, {
        access: admins,
        async handler({ body: { name }, caller, reply }) {
          const made = await audit.change(
            caller,
            async (tx) => {
              const tenant = await queries.create(tx, name);
              if (!tenant)
                throw tenantError('MUSTER_TENANT_EXISTS', 'A tenant with this name already exists.');
              return tenant;
            },
            ({ tenantId }) => ({ act: 'tenant.create', target: `tenant ${tenantId}`, detail: { name } }),
          );
          created(reply);
          return wire(made);
        },
      }),

      defineRoute(api.tenants.list, {
        access: admins,
        async handler({ query }) {
          const { items, cursor } = await readPage(
            query.limit,
            (limit) => queries.list(db, { after: Number(query.cursor ?? 0), limit }),
            (row) => String(row.tenantId),
          );
          return { tenants: items.map(wire), cursor };
        },
      }),
    ],
  };
};

const wire = ({ tenantId, name, createdAt }: Tenant) => ({ id: String(tenantId), name, createdAt });
