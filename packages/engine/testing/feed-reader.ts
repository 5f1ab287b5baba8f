import type { FeedEvent, FeedPage, Queryable } from '../src/index.ts';

/** Any way to read the feed: the engine's, or a broken one. */
export type ReadFeed = (cursor?: string) => Promise<FeedPage>;

/** Follows a feed from a cursor, or from its start, and records what it was shown, in that order. */
export interface FeedReader {
  readonly shown: FeedEvent[];
  /** Reads until there is nothing more right now. */
  poll(): Promise<void>;
}

export function createFeedReader(read: ReadFeed, start?: string): FeedReader {
  const shown: FeedEvent[] = [];
  let cursor = start;
  return {
    shown,
    async poll() {
      for (;;) {
        const page = await read(cursor);
        shown.push(...page.events);
        cursor = page.cursor;
        if (!page.more) return;
      }
    },
  };
}

export type FeedFault = 'skipped' | 'twice' | 'created-late' | 'out-of-order';

/** What is wrong with what was shown, given all that a reader had to see. */
export function feedFaults(
  shown: readonly FeedEvent[],
  all: readonly { readonly eventId: string }[],
): FeedFault[] {
  const faults = new Set<FeedFault>();
  const seen = new Set<string>();
  const last = new Map<string, bigint>();
  const due = new Set(all.map((event) => event.eventId));
  for (const event of shown) {
    if (seen.has(event.eventId)) faults.add('twice');
    seen.add(event.eventId);
    const actionId = String(event.actionId);
    const before = last.get(actionId);
    if (event.type === 'CREATED' && before !== undefined) faults.add('created-late');
    if (before !== undefined && before > BigInt(event.eventId)) faults.add('out-of-order');
    last.set(actionId, BigInt(event.eventId));
  }
  if ([...due].some((id) => !seen.has(id))) faults.add('skipped');
  if ([...seen].some((id) => !due.has(id))) faults.add('twice');
  return [...faults].sort();
}

/** All rows of the feed, written naively without regard for cost: tenant_id, xid, event_id, action_id, type. */
export const feedRows = (s = 'muster') => `(
    select e.tenant_id, e.xid, e.event_id, abs(e.action_id) as action_id, e.type from ${s}.events e where e.xid is not null
    union all
    select a.tenant_id, a.xid, a.event_id, a.action_id, 1 from ${s}.actions a where a.event_id is not null
    union all
    select z.tenant_id, z.xid, z.event_id, z.action_id, 6 from ${s}.endings z where z.event_id is not null
    union all
    select z.tenant_id, z.xid, z.event_id + 1, z.next_action, 2 from ${s}.endings z where z.next_action is not null
  )`;

/**
 * Resolves when everything before a transaction is over, or, without one, before the newest event. Transactions of
 * other databases on the same server hold the feed back as well, and other test files have some.
 */
export async function settledUpTo(client: Queryable, xid?: string, schema = 'muster'): Promise<void> {
  for (;;) {
    const { rows } = await client.query({
      text: `select coalesce(x.oldest >= $1::xid8, x.oldest > (select f.xid from ${feedRows(schema)} f order by f.xid desc limit 1)) as over
        from (select pg_snapshot_xmin(pg_current_snapshot()) as oldest) x`,
      values: [xid ?? null],
    });
    if (rows[0].over) return;
  }
}
