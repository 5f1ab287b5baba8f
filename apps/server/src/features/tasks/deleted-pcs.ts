import type { Database, Queryable } from '@muster/engine';
import { NotifiedCache } from '../../database/notified-cache.ts';

/**
 * PCs deleted while their runners held something. Every node is told, so the node that takes the last report of a
 * runner ends its token with it. If the notification is lost, the duty `end-deleted-pcs` does so some seconds later.
 */
const MOST = 1_000;
const KEPT_MS = 86_400_000;

export type DeletedPcs = ReturnType<typeof createDeletedPcs>;

export function createDeletedPcs(db: Database, schema: string) {
  const cache = new NotifiedCache<true>(db, {
    channel: `${schema}_deleted_pcs`,
    most: MOST,
    keptMs: KEPT_MS,
    onTold: (told) => cache.keep(told, true, cache.version),
  });
  const word = (tenantId: number, pcId: string) => `${tenantId}:${pcId}`;
  return {
    /** In the transaction of the deletion. */
    tell: (tx: Queryable, tenantId: number, pcId: string) => cache.tell(tx, [word(tenantId, pcId)]),
    has: (tenantId: number, pcId: string) => cache.get(word(tenantId, pcId)) === true,
    start: () => cache.start(),
  };
}
