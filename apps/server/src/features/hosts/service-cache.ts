import type { Database, Queryable } from '@muster/engine';
import { NotifiedCache } from '../../database/notified-cache.ts';
import type { ControlQueries, Service } from './queries.ts';

/**
 * Services by id, because every hand-out names its service and should not cost a look-up. A copy in the action's
 * payload would be wrong after a rename, so they are looked up at hand-out, cached, and dropped when any node changes
 * or deletes them. A lost notification is made good within a minute. The unit itself never changes under an id.
 */
const MOST = 100_000;
const KEPT_MS = 60_000;

export type ServiceCache = ReturnType<typeof createServiceCache>;

export function createServiceCache(db: Database, queries: ControlQueries, schema: string) {
  const cache = new NotifiedCache<Service>(db, {
    channel: `${schema}_services`,
    most: MOST,
    keptMs: KEPT_MS,
  });
  const word = (tenantId: number, id: string) => `${tenantId}:${id}`;

  /** A missing id does not exist. */
  async function getMany(tenantId: number, ids: readonly string[]): Promise<Map<string, Service>> {
    const found = new Map<string, Service>();
    const missing: { tenantId: number; id: string }[] = [];
    for (const id of new Set(ids)) {
      const known = cache.get(word(tenantId, id));
      if (known) found.set(id, known);
      else missing.push({ tenantId, id });
    }
    if (missing.length === 0) return found;
    const { version } = cache;
    for (const service of await queries.getServices(db, missing)) {
      found.set(service.id, service);
      cache.keep(word(tenantId, service.id), service, version);
    }
    return found;
  }

  return {
    getMany,
    get: async (tenantId: number, id: string) => (await getMany(tenantId, [id])).get(id) ?? null,
    /** In the transaction of the change. */
    changed: (client: Queryable, { tenantId, id }: Service) => cache.tell(client, [word(tenantId, id)]),
    start: () => cache.start(),
  };
}
