import { EVENT_TYPES, type EventType, eventName } from './action.ts';
import { byTenant } from './by-tenant.ts';
import type { Queryable } from './db.ts';
import { EngineError } from './errors.ts';
import { type FeedPlace, isBefore, readCursor, writeCursor } from './feed-cursor.ts';
import type { Context } from './operation.ts';
import { ofLane, rows } from './sql.ts';
import { checkTenant, checkWhole, ifGiven } from './values.ts';

/**
 * The events as an outbox. Event numbers are taken before commits, so "event number above my cursor" would skip a
 * transaction that took its number earlier and committed later. Each row therefore stores its transaction, and a
 * reader sees only rows of transactions older than every running one, ordered by transaction, then event.
 *
 * In that order every event follows what its statement could see, so CREATED comes before its consequences: a row
 * carries the number of its transaction or of the newest one its statement could see, whichever is larger
 * (001_engine). A statement leaves alone what has changed since it read it (the lane's version); otherwise that
 * change would be shown after it.
 *
 * A cursor is the place after the last event shown or passed, never a place only looked up to: after a crash the
 * database reissues numbers of transactions that left nothing.
 *
 * CREATED is not a row of `events` but the action's own, and a success is its ending, which stands for one or two
 * events (001_engine); `read_feed` merges all three.
 */
export interface FeedEvent {
  readonly eventId: string;
  readonly tenantId: number;
  /** Null: a door's note, named by `reason`. */
  readonly actionId: string | null;
  /** Null: about no lane. */
  readonly laneId: string | null;
  readonly type: EventType;
  readonly attempt: number;
  readonly at: Date;
  readonly worker: string | null;
  readonly reason: string | null;
  readonly note: unknown;
  /** The cursor after it. */
  readonly cursor: string;
}

/** The action the event is about; null: it is no longer kept, or there is none. */
export interface FeedSubject {
  readonly kind: string | null;
  readonly channel: string | null;
  readonly tags: readonly string[];
  readonly space: string | null;
  readonly laneName: string | null;
}

export interface FeedPage {
  readonly events: FeedEvent[];
  /** Pass it to the next call; it never skips or repeats an event. Opaque: its form may change. */
  readonly cursor: string;
  /** True: there may be more right now, even after an empty page. */
  readonly more: boolean;
}

export interface CountedEvents {
  readonly counts: readonly {
    readonly tenantId: number;
    readonly minute: Date;
    readonly channel: string | null;
    readonly type: EventType;
    readonly count: number;
  }[];
  /** How many events were looked at. */
  readonly passed: number;
  /** The time of the latest of them; null: there was none. */
  readonly upTo: Date | null;
  readonly cursor: string;
  readonly more: boolean;
}

const LIMIT = 1_000;
/**
 * How many events one call for a single tenant scans: some 70 pages of tables, plus two or three of each day's index.
 */
const WINDOW = 5_000;

export function createFeed(context: Context) {
  const { schema: s, isDistributed } = context;
  /** The first event in that order, in `events` or in an action or an ending. */
  const first = (where: string, order: 'asc' | 'desc') => `
            select x.xid, x.event_id, x.at from (
              (select e.xid, e.event_id, e.at from ${s}.events e where e.${where} order by e.xid ${order}, e.event_id ${order} limit 1)
              union all
              (select a.xid, a.event_id, a.created_at from ${s}.actions a where a.${where} order by a.xid ${order}, a.event_id ${order} limit 1)
              union all
              (select z.xid, z.event_id + case when ${order === 'desc'} and z.next_action is not null then 1 else 0 end, z.ended_at
                from ${s}.endings z where z.${where} order by z.xid ${order}, z.event_id ${order} limit 1)
            ) x order by x.xid ${order}, x.event_id ${order} limit 1`;

  async function countHere(client: Queryable, page: readonly unknown[], types: readonly number[]) {
    const { rows: counted } = await client.query({
      name: 'muster_feed_count',
      text: `
        with page as materialized (select * from ${s}.read_feed($1, $2, null, $3, $3))
        select p.*, c.* from (
          select incarnation, next_xid, passed, last_xid, last_event, (select max(at) from page) as "upTo" from page limit 1
        ) p left join (
          select p.tenant_id as "tenantId", date_trunc('minute', p.at) as minute, a.channel, p.type, count(*)::int as count
          from page p left join lateral (
            select a.channel from ${s}.actions a where a.tenant_id = p.tenant_id and a.action_id = p.action_id limit 1
          ) a on true
          where p.type = any($4::int[]) group by 1, 2, 3, 4
        ) c on true`,
      values: [...page, types],
    });
    return counted;
  }

  /** The page is of all tenants, and the channels of each tenant's actions are on its server. */
  async function countApart(client: Queryable, page: readonly unknown[], types: readonly number[]) {
    const { rows: events } = await client.query({
      name: 'muster_feed_page',
      text: `select p.*, date_trunc('minute', p.at) as minute, max(p.at) over () as "upTo" from ${s}.read_feed($1, $2, null, $3, $3) p`,
      values: [...page],
    });
    const counts = new Map<string, Record<string, unknown>>();
    const ofTypes = events.filter(({ type }) => types.includes(type));
    for (const some of byTenant(
      context,
      ofTypes.map((event) => ({ ...event, tenantId: event.tenant_id as number })),
    )) {
      const { rows: channels } = await client.query({
        name: 'muster_feed_channels',
        text: `select a.channel from ${rows(1, { tenant_id: 'int', action_id: 'bigint' })}
          left join lateral (
            select a.channel from ${s}.actions a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1
          ) a on true
          order by i.ord`,
        values: [some.map(({ tenantId }) => tenantId), some.map(({ action_id: id }) => id)],
      });
      some.forEach(({ tenantId, minute, type }, n) => {
        const { channel } = channels[n];
        const key = JSON.stringify([tenantId, minute, channel, type]);
        const known = counts.get(key) ?? { tenantId, minute, channel, type, count: 0 };
        counts.set(key, { ...known, count: (known.count as number) + 1 });
      });
    }
    const [{ incarnation, next_xid, passed, last_xid, last_event, upTo }] = events;
    const about = { incarnation, next_xid, passed, last_xid, last_event, upTo };
    return counts.size === 0
      ? [{ ...about, type: null }]
      : [...counts.values()].map((one) => ({ ...about, ...one }));
  }

  return {
    /** The cursor before everything (`start`) or after everything that is settled now (`end`). */
    async cursor(client: Queryable, at: 'start' | 'end'): Promise<string> {
      const { rows } = await client.query({
        name: 'muster_feed_cursor',
        text: `select i.incarnation, coalesce(e.xid, '0') as xid, coalesce(e.event_id, 0) as "eventId"
          from ${s}.incarnations i
          left join (
            ${first(`xid < pg_snapshot_xmin(pg_current_snapshot())`, 'desc')}
          ) e on $1::boolean`,
        values: [at === 'end'],
      });
      return writeCursor(rows[0]);
    },

    /**
     * Starts at the beginning without a cursor. For one tenant it passes the events of others, some thousands per
     * call.
     */
    async read(
      client: Queryable,
      options: { cursor?: string | undefined; tenantId?: number; limit?: number } = {},
    ): Promise<FeedPage> {
      const limit = checkWhole(options.limit ?? LIMIT, 'limit', 1);
      const tenantId = ifGiven(options.tenantId, checkTenant) ?? null;
      const from = ifGiven(options.cursor, readCursor);
      const window = tenantId === null ? limit : Math.max(limit, WINDOW);
      const { rows } = await client.query({
        name: 'muster_feed',
        text: `select * from ${s}.read_feed($1, $2, $3, $4, $5)`,
        values: [from?.xid ?? '0', from?.eventId ?? '0', tenantId, limit, window],
      });
      const { incarnation, next_xid, passed, last_xid, last_event } = rows[0];
      if (from) refuseForeign(from, incarnation, next_xid);
      const shown = rows.filter((row) => row.event_id !== null);
      const full = shown.length === limit;
      const last = full ? shown.at(-1) : undefined;
      const place = {
        xid: last?.xid ?? last_xid ?? from?.xid ?? '0',
        eventId: last?.event_id ?? last_event ?? from?.eventId ?? '0',
      };
      return {
        events: shown.map((row) => feedEvent(row, incarnation)),
        cursor: writeCursor({ incarnation, ...place }),
        more: full || passed === window,
      };
    },

    /**
     * How many events of each type there were per minute and channel, counted where they are stored: read and described,
     * each would cost this process as much as a claim. Of events without an action, or whose action is not kept, the
     * channel is null.
     */
    async count(
      client: Queryable,
      options: { cursor: string; types: readonly EventType[]; limit: number },
    ): Promise<CountedEvents> {
      const limit = checkWhole(options.limit, 'limit', 1);
      const from = readCursor(options.cursor);
      const types = options.types.map((type) => EVENT_TYPES[type]);
      const counted = await (isDistributed ? countApart : countHere)(
        client,
        [from.xid, from.eventId, limit],
        types,
      );
      const { incarnation, next_xid, passed, last_xid, last_event, upTo } = counted[0];
      refuseForeign(from, incarnation, next_xid);
      return {
        counts: counted.flatMap(({ tenantId, minute, channel, type, count }) =>
          type === null ? [] : [{ tenantId, minute, channel, type: eventName(type), count }],
        ),
        passed,
        upTo,
        cursor: writeCursor({ incarnation, xid: last_xid ?? from.xid, eventId: last_event ?? from.eventId }),
        more: passed === limit,
      };
    },

    /** Whether the events after the first cursor include those after the second, and more. */
    isBefore: (cursor: string, other: string): boolean => isBefore(readCursor(cursor), readCursor(other)),

    /** The actions they are about, in their order. */
    async describe(client: Queryable, events: readonly FeedEvent[]): Promise<FeedSubject[]> {
      const subjects = new Map<FeedEvent, FeedSubject>();
      for (const some of byTenant(context, events)) {
        if (some.length === 0) continue;
        const { rows: found } = await client.query({
          name: 'muster_feed_describe',
          text: `select a.kind, a.channel, coalesce(a.tags, '{}') as tags, n.space, n.name as "laneName"
            from ${rows(1, { tenant_id: 'int', action_id: 'bigint', lane_id: 'bigint' })}
            left join lateral (
              select * from ${s}.actions a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1
            ) a on true
            left join lateral (select * from ${s}.lane_names n where ${ofLane(s, 'n', 'i')} limit 1) n on true
            order by i.ord`,
          values: [
            some.map(({ tenantId }) => tenantId),
            some.map(({ actionId }) => actionId ?? '0'),
            some.map(({ laneId }) => laneId ?? '0'),
          ],
        });
        some.forEach((event, n) => void subjects.set(event, found[n]));
      }
      return events.map((event) => subjects.get(event) as FeedSubject);
    },

    /** The age in seconds of the oldest event that the feed cannot show yet. */
    async lag(client: Queryable): Promise<number> {
      const { rows } = await client.query({
        name: 'muster_feed_lag',
        text: `select extract(epoch from now() - e.at)::float8 as lag from (${first('xid >= pg_snapshot_xmin(pg_current_snapshot())', 'asc')}) e`,
      });
      return Math.max(0, rows[0]?.lag ?? 0);
    },
  };
}

/**
 * After a cursor of another life, or one ahead of the database, numbers may have been reused for events that its
 * reader would never see. A cursor is ahead if the database was restored without `muster restored`, or is a lagging
 * replica.
 */
function refuseForeign(place: FeedPlace, incarnation: string, nextXid: string): void {
  if (place.incarnation !== incarnation)
    throw new EngineError(
      'MUSTER_OTHER_INCARNATION',
      'The database was restored after this cursor was issued. Read the event feed from the start.',
    );
  if (BigInt(place.xid) >= BigInt(nextXid))
    throw new EngineError(
      'MUSTER_OTHER_INCARNATION',
      'This cursor is ahead of the database: it was restored to an earlier state without "muster restored", or it is a lagging replica.',
    );
}

function feedEvent(
  row: {
    xid: string;
    event_id: string;
    tenant_id: number;
    action_id: string;
    lane_id: string;
    type: number;
    attempt: number;
    at: Date;
    worker: string | null;
    reason: string | null;
    note: unknown;
  },
  incarnation: string,
): FeedEvent {
  return {
    eventId: row.event_id,
    tenantId: row.tenant_id,
    actionId: row.action_id === '0' ? null : row.action_id,
    laneId: row.lane_id === '0' ? null : row.lane_id,
    type: eventName(row.type),
    attempt: row.attempt,
    at: row.at,
    worker: row.worker,
    reason: row.reason,
    note: row.note,
    cursor: writeCursor({ incarnation, xid: row.xid, eventId: row.event_id }),
  };
}
