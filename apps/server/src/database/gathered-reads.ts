import { type Database, gather } from '@muster/engine';

/**
 * Gathers look-ups that come with every request into set-based statements: the first is sent at once, those that come
 * meanwhile share the next. Only for reads that may be given up without harm; writes of the queue are gathered by the
 * engine.
 */
export function gatherReads<Item, Answer>(
  { deadlineMs }: Database,
  /** One answer per item, in their order. */
  read: (items: readonly Item[]) => Promise<readonly Answer[]>,
  inFlightAtOnce: number,
): (item: Item) => Promise<Answer> {
  return gather({ name: 'read', inFlightAtOnce, deadlineMs, run: read });
}
