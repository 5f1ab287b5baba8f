import { type EventType, eventName } from './action.ts';
import type { Context } from './context.ts';
import type { Queryable } from './db.ts';
import { EngineError } from './errors.ts';

/**
 * The events as an outbox. Numbers are taken before commits, so "event number above my cursor" would skip a transaction
 * that took its number earlier and committed later. Each row therefore knows its transaction, and a reader takes only
 * rows of transactions older than every one that is still running, window by window:
 *
 *   cursor  from.to.last   rows with from <= xid < to, read up to event number `last`
 *
 * Inside a window rows come by event number, so CREATED comes before what follows from it.
 */
export interface FeedEvent {
  readonly eventId: string;
  readonly tenantId: number;
  readonly actionId: string;
  readonly laneId: string;
  readonly type: EventType;
  readonly attempt: number;
  readonly at: Date;
  readonly worker: string | null;
  readonly reason: string | null;
}

export interface FeedPage {
  readonly events: FeedEvent[];
  /** Pass it to the next call; it never skips an event and never repeats one. */
  readonly cursor: string;
  /** True: there is more to read right now. */
  readonly more: boolean;
}

export function createFeed(context: Context) {
  const s = context.schema;
  const text = `
    select e.event_id, e.tenant_id, e.action_id, e.lane_id, e.type, e.attempt, e.at, e.worker, e.reason
    from ${s}.events e
    where e.xid >= $1::xid8 and e.xid < $2::xid8 and e.event_id > $3::bigint and ($4::int is null or e.tenant_id = $4)
    order by e.event_id limit $5`;

  /**
   * Where a window that begins at `from` ends: behind the newest transaction that is older than every running one and has
   * left an event. Not behind one that left none: after a crash of the database its number may be given out again.
   */
  async function endOfWindow(client: Queryable, from: string): Promise<string | null> {
    const { rows } = await client.query({
      name: 'muster_feed_window',
      text: `select (e.xid::text::bigint + 1)::text as next from ${s}.events e
        where e.xid >= $1::xid8 and e.xid < pg_snapshot_xmin(pg_current_snapshot()) order by e.xid desc limit 1`,
      values: [from],
    });
    return rows[0]?.next ?? null;
  }

  return {
    /** The cursor before everything (`start`) or after everything that is settled now (`end`). */
    async cursor(client: Queryable, at: 'start' | 'end'): Promise<string> {
      return at === 'start' ? '0.0.0' : `${(await endOfWindow(client, '0')) ?? '0'}.0.0`;
    },

    async read(
      client: Queryable,
      options: { cursor: string; tenantId?: number; limit?: number },
    ): Promise<FeedPage> {
      const limit = options.limit ?? 1_000;
      let [from, to, last] = parse(options.cursor);
      for (;;) {
        if (to === '0') {
          // a new window, from where the last one ended
          const end = await endOfWindow(client, from);
          if (end === null) return { events: [], cursor: `${from}.0.0`, more: false };
          to = end;
        }
        const { rows } = await client.query({
          name: 'muster_feed',
          text,
          values: [from, to, last, options.tenantId ?? null, limit],
        });
        const events = rows.map(feedEvent);
        if (events.length === limit)
          return { events, cursor: `${from}.${to}.${events.at(-1)?.eventId}`, more: true };
        if (events.length > 0) return { events, cursor: `${to}.0.0`, more: false };
        // an empty window: its end is the next one's beginning
        if (options.cursor.endsWith('.0.0')) return { events: [], cursor: `${to}.0.0`, more: false };
        [from, to, last] = [to, '0', '0'];
        options = { ...options, cursor: `${from}.0.0` };
      }
    },

    /** How old the oldest event is that the feed cannot show yet, in seconds. */
    async lag(client: Queryable): Promise<number> {
      const { rows } = await client.query({
        name: 'muster_feed_lag',
        text: `select coalesce(extract(epoch from now() - min(e.at)), 0)::float8 as lag from ${s}.events e
          where e.xid >= pg_snapshot_xmin(pg_current_snapshot())`,
      });
      return Math.max(0, rows[0].lag);
    },
  };
}

function parse(cursor: string): [string, string, string] {
  const match = /^(\d{1,20})\.(\d{1,20})\.(\d{1,19})$/.exec(cursor);
  if (!match) throw new EngineError('MUSTER_BAD_VALUE', 'This is not a cursor of the event feed.');
  return [match[1] as string, match[2] as string, match[3] as string];
}

function feedEvent(row: {
  event_id: string;
  tenant_id: number;
  action_id: string;
  lane_id: string;
  type: number;
  attempt: number;
  at: Date;
  worker: string | null;
  reason: string | null;
}): FeedEvent {
  return {
    eventId: row.event_id,
    tenantId: row.tenant_id,
    actionId: row.action_id,
    laneId: row.lane_id,
    type: eventName(row.type),
    attempt: row.attempt,
    at: row.at,
    worker: row.worker,
    reason: row.reason,
  };
}
