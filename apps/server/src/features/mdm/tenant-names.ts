import type { Database } from '@muster/engine';
import type { createTenantQueries } from '../../tenants/queries.ts';

const MOST_KNOWN = 10_000;

/**
 * Tenants by the name in an address. Names never change, so a found one is cached; an unknown one is asked for again.
 */
export function createTenantNames(db: Database, queries: ReturnType<typeof createTenantQueries>) {
  const known = new Map<string, number>();
  return {
    async idOf(name: string): Promise<number | null> {
      const id = known.get(name);
      if (id !== undefined) return id;
      const found = await queries.find(db, name);
      if (found && known.size < MOST_KNOWN) known.set(name, found.tenantId);
      return found?.tenantId ?? null;
    },
    async nameOf(tenantId: number): Promise<string> {
      return (await queries.get(db, tenantId))?.name ?? String(tenantId);
    },
  };
}
