import { byTenant, type Database, gather } from '@muster/engine';

/**
 * Gathers look-ups that come with every request into set-based statements: the first is sent at once, those that come
 * meanwhile share the next. Only for reads that may be given up without harm; writes of the queue are gathered by the
 * engine. On a distributed database each statement is of one tenant.
 */
export function gatherReads<Item extends { readonly tenantId: number }, Answer>(
  db: Database,
  /** One answer per item, in their order. */
  read: (items: readonly Item[]) => Promise<readonly Answer[]>,
  inFlightAtOnce: number,
): (item: Item) => Promise<Answer> {
  const readEach = async (items: readonly Item[]) => {
    const answers = new Map<Item, Answer>();
    for (const some of byTenant(db, items))
      for (const [n, answer] of (await read(some)).entries()) answers.set(some[n] as Item, answer);
    return items.map((item) => answers.get(item) as Answer);
  };
  const run = db.isDistributed ? readEach : read;
  return gather({ name: 'read', inFlightAtOnce, deadlineMs: db.deadlineMs, run });
}
