import { type EventType, eventName } from '../action.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import type { Reasons } from '../reasons.ts';
import { actionOf, endingOf, NOW, pendingOf, presentLane } from '../sql.ts';
import { checkName, checkTenant, checkWhole, isId } from '../values.ts';
import { withDoor } from '../waiting-for.ts';
import {
  type ActionFilter,
  COUNTED_ONE_BY_ONE,
  checkCursor,
  driverOf,
  filtered,
  isLookedFor,
  laneIdOf,
} from './action-filter.ts';
import { type ActionRow, type ActionView, type CreatedAction, from, select, view } from './action-view.ts';
import { besideTag, steps } from './tagged.ts';

const MOST_PER_PAGE = 10_000;
const MOST_LOOKED_AT = 10_000;
const LOOK = 1_000;
/** The first look is small and usually finds a page. Each further one is twice as large. */
const FIRST_LOOK = 100;
/** For a count, whose first matches no caller waits for. */
const COUNT_LOOK = 10_000;
const MOST_ID = '999999999999999999';

export interface ActionEvent {
  readonly type: EventType;
  readonly attempt: number;
  readonly at: Date;
  readonly worker: string | null;
  readonly reason: string | null;
}

export interface ActionPage {
  readonly actions: ActionView[];
  /** Null: there is no further page. */
  readonly cursor: string | null;
  /** For a filter without an index: how many actions were scanned. The cursor continues after them. */
  readonly looked?: number;
}

/** Reading: one action, a filtered page, a history. A read never repairs and never locks. */
export function createLookUp(context: Context, reasons: Reasons) {
  const s = context.schema;

  async function views(client: Queryable, rows: ActionRow[]): Promise<ActionView[]> {
    const waiting = rows.filter((row) => row.ended_state === null && !row.leased);
    const given = await reasons.ask(
      client,
      waiting.map((row) => ({
        id: row.action_id,
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        channel: row.channel,
      })),
    );
    return rows.map((row) => view(row, given.get(row.action_id)));
  }

  async function read(
    client: Queryable,
    filter: ActionFilter,
    page: { cursor?: string | undefined; limit: number },
  ): Promise<ActionPage> {
    const { limit } = page;
    const { others, values } = filtered(context, filter, page.cursor);
    const { rows } = await client.query({
      text: `${[select(s, driverOf(filter)), ...others].join(' and ')} order by a.action_id desc limit ${limit + 1}`,
      values,
    });
    const actions = await views(client, rows.slice(0, limit));
    return { actions, cursor: rows.length > limit ? (actions.at(-1)?.id ?? null) : null };
  }

  /** Ids in small looks, in the requested order, until the page is full or enough was scanned. */
  async function look(
    client: Queryable,
    ask: Ask,
    page: { cursor: string | undefined; limit: number; look?: number; mostLookedAt?: number },
  ): Promise<{ ids: string[]; cursor: string | null; looked: number }> {
    const { limit, look = LOOK, mostLookedAt = MOST_LOOKED_AT } = page;
    const ids: string[] = [];
    let { cursor } = page;
    let most = Math.min(look, Math.max(FIRST_LOOK, limit));
    for (let looked = 0; looked < mostLookedAt; most = Math.min(look, 2 * most)) {
      most = Math.min(most, mostLookedAt - looked);
      const { rows } = await client.query(ask(cursor, most));
      for (const row of rows) {
        looked += 1;
        cursor = row.action_id as string;
        if (row.found) ids.push(cursor);
        if (ids.length === limit) {
          const isLast = row === rows.at(-1) && rows.length < most;
          return { ids, cursor: isLast ? null : cursor, looked };
        }
      }
      if (rows.length < most) return { ids, cursor: null, looked };
    }
    return { ids, cursor: cursor ?? null, looked: mostLookedAt };
  }

  /** A page of the actions with a tag: exact, unless too few of the scanned ones match the rest of the filter. */
  async function readTagged(
    client: Queryable,
    filter: Tagged,
    page: { cursor: string | undefined; limit: number },
  ): Promise<ActionPage> {
    const { limit } = page;
    const found = await look(client, askTagged(context, filter), {
      cursor: page.cursor && checkCursor(page.cursor),
      ...{ limit: limit + 1, mostLookedAt: Math.max(MOST_LOOKED_AT, limit + 1) },
    });
    const ids = found.ids.slice(0, limit);
    const cursor = found.ids.length > limit ? (ids.at(-1) ?? null) : found.cursor;
    const actions =
      ids.length === 0 ? [] : (await read(client, { tenantId: filter.tenantId, ids }, { limit })).actions;
    const hasLooked = isLookedFor(filter) || (cursor !== null && ids.length < limit);
    return { actions, cursor, ...(hasLooked ? { looked: found.looked } : {}) };
  }

  return {
    /** For other reads: rows of `selectUnfinished`. */
    viewsOf: views as (client: Queryable, rows: unknown[]) => Promise<ActionView[]>,

    async get(client: Queryable, tenantId: number, id: string): Promise<ActionView | null> {
      if (!isId(id)) return null;
      checkTenant(tenantId);
      const { rows } = await client.query({
        name: 'muster_get',
        text: `${select(s, 'actions')} and a.action_id = $3`,
        values: [context.now(), tenantId, id],
      });
      return (await views(client, rows))[0] ?? null;
    },

    /** The created action, with the doors' reasons why it waits. */
    async explain(client: Queryable, created: CreatedAction): Promise<CreatedAction> {
      const given = await reasons.ask(client, [created]);
      const door = given.get(created.id);
      return door && created.waitingFor
        ? { ...created, waitingFor: withDoor(created.waitingFor, door) }
        : created;
    },

    /** Newest first; the cursor is the last id of the previous page. */
    async list(
      client: Queryable,
      filter: ActionFilter,
      page: { cursor?: string | undefined; limit?: number | undefined } = {},
    ): Promise<ActionPage> {
      const limit = checkWhole(page.limit ?? 100, 'limit', 1, MOST_PER_PAGE);
      if (goesByTag(filter)) return readTagged(client, filter, { limit, cursor: page.cursor });
      if (!isLookedFor(filter)) return read(client, filter, { limit, cursor: page.cursor });
      const { ids, cursor, looked } = await look(client, askOthers(context, filter), {
        ...{ limit, cursor: page.cursor },
      });
      if (ids.length === 0) return { actions: [], cursor, looked };
      const { actions } = await read(client, { tenantId: filter.tenantId, ids }, { limit });
      return { actions, cursor, looked };
    },

    /** Just the ids, oldest first, for an operation over everything that matches. */
    async ids(
      client: Queryable,
      filter: ActionFilter,
      page: { after: string; upTo: string; limit: number },
    ): Promise<string[]> {
      const { after, limit, upTo } = page;
      if (goesByTag(filter)) {
        const ask = askTagged(context, filter, { order: 'oldest', upTo });
        const rest = { cursor: after, limit, mostLookedAt: Number.POSITIVE_INFINITY };
        return (await look(client, ask, rest)).ids;
      }
      const { others, sought, values } = filtered(context, filter);
      const n = values.length;
      const { rows } = await client.query({
        text: `select a.action_id ${[from(s, driverOf(filter)), ...others, ...sought].join(' and ')} and a.action_id > $${n + 1} and a.action_id <= $${n + 2} order by a.action_id limit ${limit}`,
        values: [...values, after, upTo],
      });
      return rows.map((row) => row.action_id);
    },

    /**
     * How many match, exactly up to `most`. At most `within` are scanned, whatever the filter; beyond that there may be
     * more.
     */
    async count(
      client: Queryable,
      filter: ActionFilter,
      { most = 10_000, within = 100_000 } = {},
    ): Promise<{ count: number; more: boolean }> {
      if (goesByTag(filter)) {
        const all = { cursor: undefined, limit: most + 1, look: COUNT_LOOK, mostLookedAt: within };
        const { cursor, ids } = await look(client, askTagged(context, filter), all);
        return { count: Math.min(ids.length, most), more: cursor !== null || ids.length > most };
      }
      const { others, sought, values } = filtered(context, filter, undefined, COUNTED_ONE_BY_ONE);
      const lookAt = sought.length === 0 ? most + 1 : within;
      const { rows } = await client.query({
        text: `select count(*) filter (where found)::int as found, count(*)::int as looked from (
            select ${['true', ...sought].join(' and ')} as found ${[from(s, driverOf(filter)), ...others].join(' and ')}
            order by a.action_id desc limit ${lookAt}
          ) x`,
        values,
      });
      const { found, looked } = rows[0];
      return { count: Math.min(found, most), more: found > most || looked === lookAt };
    },

    /** The oldest unfinished action. */
    async oldestUnfinished(client: Queryable, tenantId: number): Promise<ActionView | null> {
      const { rows } = await client.query({
        name: 'muster_oldest_unfinished',
        text: `select action_id from ${s}.pending where tenant_id = $1 order by action_id limit 1`,
        values: [checkTenant(tenantId)],
      });
      return rows[0]
        ? ((await read(client, { tenantId, ids: [rows[0].action_id] }, { limit: 1 })).actions[0] ?? null)
        : null;
    },

    /** The action with this idempotency key, if it is kept. */
    async idOfKey(client: Queryable, tenantId: number, key: string | undefined): Promise<string | null> {
      checkTenant(tenantId);
      if (key === undefined) return null;
      const { rows } = await client.query({
        text: `select action_id from ${s}.idempotency_keys where tenant_id = $1 and key = $2`,
        values: [tenantId, checkName(key, 'idempotency key')],
      });
      return rows[0]?.action_id ?? null;
    },

    /** Of several keys; a key that is not kept has none. */
    async idsOfKeys(client: Queryable, tenantId: number, keys: readonly string[]): Promise<string[]> {
      const { rows } = await client.query({
        text: `select k.action_id from unnest((select $2::text[])) i(key)
          cross join lateral (
            select k.action_id from ${s}.idempotency_keys k where k.tenant_id = $1 and k.key = i.key limit 1
          ) k`,
        values: [checkTenant(tenantId), keys.map((key) => checkName(key, 'idempotency key'))],
      });
      return rows.map((row) => row.action_id);
    },

    async newestId(client: Queryable): Promise<string> {
      const { rows } = await client.query({ text: `select last_value as id from ${s}.action_seq` });
      return rows[0].id;
    },

    async events(client: Queryable, tenantId: number, id: string): Promise<ActionEvent[]> {
      if (!isId(id)) return [];
      checkTenant(tenantId);
      const { rows } = await client.query({
        name: 'muster_events',
        text: `select type, attempt, at, worker, reason from ${s}.history where tenant_id = $1 and action_id = $2 order by event_id`,
        values: [tenantId, id],
      });
      return rows.map((row) => ({
        type: eventName(row.type),
        attempt: row.attempt,
        at: row.at,
        worker: row.worker,
        reason: row.reason,
      }));
    },
  };
}

/** The same for a look, which reads many rows to find few: it joins only what the filter needs. */
function lookFrom(s: string, filter: ActionFilter): string {
  const driver = driverOf(filter);
  if (driver === 'pending' || driver === 'lanes' || filter.waitsForTime) return from(s, driver);
  const key = (row: string) => `${row}.tenant_id = a.tenant_id and ${row}.action_id = a.action_id`;
  const joined =
    driver === 'unfinished'
      ? `join ${s}.pending p on ${key('p')}`
      : driver === 'endings'
        ? `join ${s}.endings z on ${key('z')}`
        : '';
  const asksForEnd = [filter.error, filter.endedAfter, filter.endedBefore].some((one) => one !== undefined);
  const ended = asksForEnd && driver !== 'endings' ? `left join lateral ${endingOf(s, 'a')} on true` : '';
  return `from ${s}.actions a ${joined} ${ended} where a.tenant_id = $2 and ${NOW} is not null`;
}

/** The next rows after an id, and which of them were `found`. */
type Ask = (cursor: string | undefined, most: number) => { text: string; values: unknown[] };

function askOthers(context: Context, filter: ActionFilter): Ask {
  const s = context.schema;
  return (cursor, most) => {
    const { others, sought, values } = filtered(context, filter, cursor);
    return {
      text: `select a.action_id, coalesce(${sought.join(' and ')}, false) as found
        ${[lookFrom(s, filter), ...others].join(' and ')} order by a.action_id desc limit ${most}`,
      values,
    };
  };
}

type Tagged = ActionFilter & { readonly tag: string };

/** For filters by id or by claimed actions there are fewer rows: each says whether it has the tag. */
const goesByTag = (filter: ActionFilter): filter is Tagged =>
  filter.tag !== undefined && filter.ids === undefined && filter.state !== 'claimed';

function askTagged(
  context: Context,
  filter: Tagged,
  { order = 'newest', upTo }: { order?: 'newest' | 'oldest'; upTo?: string } = {},
): Ask {
  const s = context.schema;
  const { state } = filter;
  const driver = driverOf(filter);
  return (cursor = MOST_ID, most) => {
    const { others, values } = filtered(
      context,
      { ...filter, tag: undefined, laneId: undefined },
      undefined,
      [],
    );
    const add = (value: unknown) => `$${values.push(value)}`;
    if (state === 'pending') others.push('l.action_id is distinct from a.action_id');
    // a lane's index does not contain states
    if (filter.laneId !== undefined && driver !== 'actions')
      others.push(`${driver === 'endings' ? 'z' : 'p'}.action_id is not null`);
    const found = steps(s, {
      tag: add(checkName(filter.tag, 'tag', 0)),
      beside: besideTag(s, { ...filter, laneId: laneIdOf(filter) }, add),
      from: add(cursor),
      upTo: upTo && add(upTo),
      ...{ most, order },
    });
    return {
      text: `select h.reached as action_id, coalesce(${['h.action_id is not null', ...others].join(' and ')}, false) as found
        from ${found} h ${joined(s, others)}
        where ${NOW} is not null order by h.reached ${order === 'newest' ? 'desc' : 'asc'}`,
      values,
    };
  };
}

/** Rows of the actions `h` that match these conditions. */
function joined(s: string, conditions: readonly string[]): string {
  const isNamed = (...rows: string[]) =>
    rows.some((row) => conditions.some((one) => one.includes(`${row}.`)));
  const joins = [
    isNamed('a', 'l') && actionOf(s, 'h'),
    isNamed('p', 'l') && pendingOf(s, 'h'),
    isNamed('l') && presentLane(s),
    isNamed('z') && endingOf(s, 'h'),
  ];
  return joins.flatMap((join) => (join ? [`left join lateral ${join} on true`] : [])).join(' ');
}
