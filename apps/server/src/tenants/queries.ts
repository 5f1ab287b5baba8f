import type { Queryable } from '@muster/engine';
import { DEFAULT_TENANT, DEFAULT_TENANT_NAME } from './default-tenant.ts';

export interface Tenant {
  readonly tenantId: number;
  readonly name: string;
  readonly createdAt: Date;
}

export function createTenantQueries(s: string) {
  const tenant = (row: { tenant_id: number; name: string; created_at: Date }): Tenant => ({
    tenantId: row.tenant_id,
    name: row.name,
    createdAt: row.created_at,
  });

  return {
    async ensureDefault(client: Queryable): Promise<void> {
      await client.query({
        text: `insert into ${s}.tenants (tenant_id, name) values ($1, $2) on conflict do nothing`,
        values: [DEFAULT_TENANT, DEFAULT_TENANT_NAME],
      });
    },

    /**
     * Null: the name is taken. Numbers are never reused, because tokens carry the number of their tenant; two
     * concurrent transactions that create one wait for each other.
     */
    async create(client: Queryable, name: string): Promise<Tenant | null> {
      await client.query({
        text: `select 1 from ${s}.tenants where tenant_id = $1 for update`,
        values: [DEFAULT_TENANT],
      });
      const { rows } = await client.query({
        text: `insert into ${s}.tenants (tenant_id, name)
          select coalesce(max(tenant_id), $2) + 1, $1 from ${s}.tenants on conflict (name) do nothing
          returning tenant_id, name, created_at`,
        values: [name, DEFAULT_TENANT],
      });
      return rows[0] ? tenant(rows[0]) : null;
    },

    async find(client: Queryable, name: string): Promise<Tenant | null> {
      const { rows } = await client.query({
        text: `select tenant_id, name, created_at from ${s}.tenants where name = $1`,
        values: [name],
      });
      return rows[0] ? tenant(rows[0]) : null;
    },

    async get(client: Queryable, tenantId: number): Promise<Tenant | null> {
      const { rows } = await client.query({
        text: `select tenant_id, name, created_at from ${s}.tenants where tenant_id = $1`,
        values: [tenantId],
      });
      return rows[0] ? tenant(rows[0]) : null;
    },

    /** Oldest first; all of them unless a page is requested. */
    async list(client: Queryable, page: { after?: number; limit?: number } = {}): Promise<Tenant[]> {
      const { rows } = await client.query({
        text: `select tenant_id, name, created_at from ${s}.tenants where tenant_id > $1 order by tenant_id limit $2`,
        values: [page.after ?? 0, page.limit ?? null],
      });
      return rows.map(tenant);
    },
  };
}
