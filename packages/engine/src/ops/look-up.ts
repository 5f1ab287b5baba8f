import { type ActionState, EVENT_TYPES, type EventType, eventName, FINAL_STATES } from '../action.ts';
import { priorityName } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import type { Context } from '../operation.ts';
import { hasText, soughtText } from '../payload-text.ts';
import type { Reasons } from '../reasons.ts';
import { actionOf, endingOf, NOW, ofLane, pendingOf, presentLane, soughtBy } from '../sql.ts';
import { checkName, checkOneOf, checkTenant, checkTime, checkWhole, isId } from '../values.ts';
import { type DoorReason, type WaitingFor, waitingFor, withDoor } from '../waiting-for.ts';
import { runningOf } from './runner-slots.ts';
import { besideTag, steps } from './tagged.ts';

const MOST_PER_PAGE = 10_000;
const STATES = ['pending', 'claimed', 'unfinished', 'finished', ...FINAL_STATES];

/** Reading: one action, a filtered page, a history. A read never repairs and never locks. */
export interface ActionFilter {
  readonly tenantId: number;
  readonly ids?: readonly string[] | undefined;
  readonly laneId?: string | undefined;
  readonly channel?: string | undefined;
  /** Not on one of these. */
  readonly exceptChannels?: readonly string[] | undefined;
  readonly kind?: string | undefined;
  readonly tag?: string | undefined;
  /** `unfinished` is pending or claimed, `finished` is ended in any way. */
  readonly state?: ActionState | 'unfinished' | 'finished' | undefined;
  /** Of pending ones: those that wait for their time, or for that of their retry. */
  readonly waitsForTime?: boolean | undefined;
  readonly createdBefore?: Date | undefined;
  readonly createdAfter?: Date | undefined;
  readonly endedBefore?: Date | undefined;
  readonly endedAfter?: Date | undefined;
  readonly createdBy?: string | undefined;
  /** A part of what the worker said, of one that has ended; of capitals or not. */
  readonly error?: string | undefined;
  /** A part of its payload, whether in capitals or not (`payload-text.ts`). */
  readonly payloadText?: string | undefined;
}

/** No index is for these: a page looks for them among so many of the others at most. */
const UNINDEXED = ['createdBy', 'endedAfter', 'endedBefore', 'error', 'payloadText'] as const;
/** Nor for these, and of most lists they leave much: they are looked for unless something else says which actions are meant. */
const BROAD = ['channel', 'exceptChannels', 'kind'] as const;
const BOUNDING = ['ids', 'laneId', 'tag'] as const;
const MOST_LOOKED_AT = 10_000;
const LOOK = 1_000;
/** The first look is a small one: mostly it finds a page. Each further one is twice as large. */
const FIRST_LOOK = 100;
/** Of a count: nobody waits for the first of them. */
const COUNT_LOOK = 10_000;
const MOST_ID = '999999999999999999';

export interface ActionView {
  readonly id: string;
  readonly tenantId: number;
  readonly laneId: string;
  readonly space: string | null;
  readonly laneName: string | null;
  readonly channel: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly priority: 'urgent' | 'normal';
  readonly tags: readonly string[];
  readonly state: ActionState;
  readonly attempt: number;
  readonly failures: number;
  readonly maxAttempts: number;
  readonly headOfLine: 'skip' | 'hold';
  /** Null: as long as whoever claims it says. */
  readonly leaseMs: number | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly notBefore: Date | null;
  readonly deliverBy: Date | null;
  readonly deadline: Date | null;
  readonly worker: string | null;
  readonly leasedAt: Date | null;
  readonly leaseUntil: Date | null;
  /** When the attempt was handed out that it is in, or that it ended with; null: none, or it waits for the next. */
  readonly startedAt: Date | null;
  readonly cancelRequested: boolean;
  readonly waitingFor: WaitingFor | null;
  readonly endedAt: Date | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly result: unknown;
  readonly copiedFrom: string | null;
}

/** What was just created: all that `get` tells, but for the name of the lane, which its caller knows, and reasons of doors. */
export type CreatedAction = Omit<ActionView, 'space' | 'laneName'>;

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
  /** Of a filter that no index is for: among so many was looked. The cursor leads on behind them. */
  readonly looked?: number;
}

export function createLookUp(context: Context, reasons: Reasons) {
  const s = context.schema;

  async function views(client: Queryable, rows: Row[]): Promise<ActionView[]> {
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

  /** Ids in small looks, in the order of what is asked, until the page is full or enough was looked at. */
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

  /** A page of what has a tag: exact, unless the rest of the filter was met by too few of so many. */
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

    /** What was created, with what the doors say about why it waits. */
    async explain(client: Queryable, created: CreatedAction): Promise<CreatedAction> {
      const given = await reasons.ask(client, [created]);
      const waiting = created.waitingFor && withDoor(created.waitingFor, given.get(created.id));
      return { ...created, waitingFor: waiting };
    },

    /** Newest first; the cursor is the last id of the page before. */
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
     * How many match, exactly up to `most`. Not more than `within` are looked at, whatever the filter: then there are perhaps
     * more, too.
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

    /** The one that was created first of all that have not ended. */
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

    /** Of several keys; whichever is not kept has none. */
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

type Driver = 'actions' | 'pending' | 'unfinished' | 'lanes' | 'endings';

/** Each state is read from the table that holds it, so a page of ten dead letters does not walk a million successes. */
function driverOf(filter: ActionFilter): Driver {
  if (filter.state === 'pending') return 'pending';
  if (filter.state === 'unfinished') return 'unfinished';
  if (filter.state === 'claimed') return 'lanes';
  if (filter.state !== undefined || filter.endedAfter || filter.endedBefore) return 'endings';
  return 'actions';
}

function from(s: string, driver: Driver): string {
  const drives = (...names: Driver[]) => names.includes(driver);
  return `from ${s}.actions a
    ${drives('pending', 'unfinished') ? `join ${s}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id` : `left join lateral ${pendingOf(s, 'a')} on true`}
    ${drives('lanes') ? `join ${s}.lanes l on l.tenant_id = a.tenant_id and l.action_id = a.action_id` : `cross join lateral ${presentLane(s)}`}
    ${drives('endings') ? `join ${s}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id` : `left join lateral ${endingOf(s, 'a')} on true`}
    left join lateral (select * from ${s}.lane_names n where ${ofLane(s, 'n', 'a')} limit 1) n on true
    where a.tenant_id = $2 and ${NOW} is not null${driver === 'pending' ? ' and l.action_id is distinct from a.action_id' : ''}`;
}

/** The same for a look, which reads many rows to find few: only what the filter asks for is joined. */
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

/** The next so many behind an id, and which of them were `found`. */
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

/** Of ids and of what is claimed there are fewer: their rows say whether they have the tag. */
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
    // the index of a lane says nothing about states
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

/** Rows of the actions `h` that these conditions name. */
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

/** What is looked for among the rest. */
function lookedFor(filter: ActionFilter): readonly (keyof ActionFilter)[] {
  const isBounded = BOUNDING.some((name) => filter[name] !== undefined);
  return isBounded ? UNINDEXED : [...UNINDEXED, ...BROAD];
}

const isLookedFor = (filter: ActionFilter) => lookedFor(filter).some((name) => filter[name] !== undefined);

/** What is no id names no lane. */
const laneIdOf = ({ laneId }: ActionFilter) => (laneId === undefined || isId(laneId) ? laneId : '0');

/** What is claimed is found by the lanes that have it: the lane itself or, of a pool, those of its workers. */
const ofLaneOrPool = (s: string, driver: Driver, lane: string) =>
  driver === 'lanes'
    ? `a.lane_id = ${lane} and l.lane_id = any(array(
        select ${lane}::bigint union all select w.lane_id from ${s}.lanes w
        where w.tenant_id = $2 and w.pool_id = ${lane} and ${soughtBy(s, 'w.pool_id')}))`
    : `a.lane_id = ${lane} and ${soughtBy(s, 'a.lane_id')}`;

const select = (s: string, driver: Driver) => `
  select a.*, n.space, n.name as lane_name, p.attempt as last_attempt, p.failures, p.deferrals, p.not_before as waits_until, p.deadline as open_deadline,
    coalesce(l.action_id = a.action_id, false) as leased, l.attempt as leased_attempt, l.worker, l.leased_at, l.lease_until, l.cancel_requested,
    l.paused_at as lane_paused_at, l.paused_by as lane_paused_by, l.blocked, z.state as ended_state, z.attempt as ended_attempt, z.reason, z.error, z.result, z.ended_at,
    -- of one that did not end with its attempt: within the days of its life, with room for clocks that differ, so not every day is looked into
    case when z.sent_at is not null or z.attempt = 0 then z.sent_at else (select e.at from ${s}.events e where e.tenant_id = a.tenant_id and e.action_id = a.action_id
      and e.attempt = z.attempt and e.type = ${EVENT_TYPES.SENT}
      and e.at between a.created_at - interval '1 hour' and z.ended_at + interval '1 hour' order by e.event_id limit 1) end as ended_sent_at,
    coalesce(x.tag = '', false) as tenant_paused, nullif(x.tag, '') as paused_tag, x.paused_at, x.paused_by,
    case when p.action_id is null or l.action_id = a.action_id then null
      else coalesce(l.action_id, (
        select q.action_id from ${s}.pending q where ${ofLane(s, 'q', 'p')}
          and q.channel = p.channel and not q.delayed and q.generation = l.generation and (q.priority, q.seq) < (p.priority, p.seq)
        order by q.priority, q.seq limit 1)) end as ahead_id,
    u.action_id as urgent_id, u.channel as urgent_channel, u.until as urgent_until,
    r.slots, case when r.slots is not null then ${runningOf(s, 'r')}::int end as running, ${NOW} as now
  ${from(s, driver).replace(
    'where a.tenant_id',
    `left join lateral (select * from ${s}.runners r where r.tenant_id = l.tenant_id and r.runner_id = l.runner_id limit 1) r on true
    left join lateral (
      select * from ${s}.pauses x where x.tenant_id = a.tenant_id and (x.tag = '' or x.tag = any(a.tags)) order by x.tag limit 1
    ) x on true
    left join lateral (
      select * from ${s}.urgent_elsewhere(${NOW}, p.tenant_id, p.lane_id, p.channel) u where p.priority = 1 and l.action_id is null
    ) u on true
    where a.tenant_id`,
  )}`;

/** Every unfinished action as `viewsOf` reads it; `$1` is the time, `$2` the tenant. */
export const selectUnfinished = (s: string) => select(s, 'unfinished');

/** Conditions that an index helps with, or that are met soon, and those that are `sought` among what the others leave. */
function filtered(
  context: Context,
  filter: ActionFilter,
  cursor?: string,
  looked: readonly (keyof ActionFilter)[] = lookedFor(filter),
): { others: string[]; sought: string[]; values: unknown[] } {
  const values: unknown[] = [context.now(), checkTenant(filter.tenantId)];
  const others: string[] = [];
  const sought: string[] = [];
  const add = (sql: (n: string) => string, value: unknown, name?: keyof ActionFilter) => {
    values.push(value);
    (name && looked.includes(name) ? sought : others).push(sql(`$${values.length}`));
  };
  if (filter.ids) add((n) => `a.action_id = any(${n}::bigint[])`, filter.ids.filter(isId));
  if (filter.laneId !== undefined)
    add((n) => ofLaneOrPool(context.schema, driverOf(filter), n), laneIdOf(filter));
  if (filter.channel !== undefined)
    add((n) => `a.channel = ${n}`, checkName(filter.channel, 'channel', 0), 'channel');
  if (filter.exceptChannels?.length)
    add((n) => `a.channel <> all(${n}::text[])`, filter.exceptChannels, 'exceptChannels');
  if (filter.kind !== undefined) add((n) => `a.kind = ${n}`, checkName(filter.kind, 'kind', 0), 'kind');
  if (filter.tag !== undefined) add((n) => `${n} = any(a.tags)`, checkName(filter.tag, 'tag', 0));
  if (filter.state !== undefined) checkOneOf(filter.state, 'state', STATES);
  if (filter.state && FINAL_STATES.includes(filter.state as never))
    add((n) => `z.state = ${n}`, filter.state);
  if (filter.waitsForTime) others.push('p.not_before is not null');
  if (filter.createdBefore)
    add((n) => `a.created_at < ${n}`, checkTime(filter.createdBefore, 'createdBefore'), 'createdBefore');
  if (filter.createdAfter)
    add((n) => `a.created_at >= ${n}`, checkTime(filter.createdAfter, 'createdAfter'), 'createdAfter');
  if (filter.endedBefore)
    add((n) => `z.ended_at < ${n}`, checkTime(filter.endedBefore, 'endedBefore'), 'endedBefore');
  if (filter.endedAfter)
    add((n) => `z.ended_at >= ${n}`, checkTime(filter.endedAfter, 'endedAfter'), 'endedAfter');
  if (filter.createdBy !== undefined) add((n) => `a.created_by = ${n}`, filter.createdBy, 'createdBy');
  if (filter.error !== undefined) add((n) => within('z.error', n), filter.error, 'error');
  if (filter.payloadText !== undefined)
    add((n) => hasText('a.payload', n), soughtText(filter.payloadText), 'payloadText');
  if (cursor !== undefined) {
    add((n) => `a.action_id < ${n}`, checkCursor(cursor));
  }
  return { others, sought, values };
}

function checkCursor(cursor: string): string {
  if (!isId(cursor)) throw new EngineError('MUSTER_BAD_VALUE', 'This is not a cursor of this list.');
  return cursor;
}

/** For a count: what it may have to look at all others for. */
const COUNTED_ONE_BY_ONE = [...UNINDEXED, ...BROAD, 'createdAfter', 'createdBefore'] as const;

const within = (text: string, part: string) => `position(lower(${part}::text) in lower(${text})) > 0`;

interface Row {
  action_id: string;
  tenant_id: number;
  lane_id: string;
  space: string | null;
  lane_name: string | null;
  channel: string;
  kind: string;
  payload: unknown;
  priority: number;
  tags: string[] | null;
  created_at: Date;
  created_by: string | null;
  not_before: Date | null;
  deliver_by: Date | null;
  deadline: Date | null;
  max_attempts: number;
  head_of_line: 'skip' | 'hold';
  lease_ms: number | null;
  copied_from: string | null;
  last_attempt: number | null;
  failures: number | null;
  deferrals: number | null;
  waits_until: Date | null;
  open_deadline: Date | null;
  leased: boolean;
  leased_attempt: number | null;
  worker: string | null;
  leased_at: Date | null;
  lease_until: Date | null;
  cancel_requested: boolean;
  lane_paused_at: Date | null;
  lane_paused_by: string | null;
  blocked: string | null;
  ended_state: ActionState | null;
  ended_attempt: number | null;
  reason: string | null;
  error: string | null;
  result: unknown;
  ended_at: Date | null;
  ended_sent_at: Date | null;
  tenant_paused: boolean;
  paused_tag: string | null;
  paused_at: Date | null;
  paused_by: string | null;
  ahead_id: string | null;
  slots: number | null;
  running: number | null;
  urgent_id: string | null;
  urgent_channel: string;
  urgent_until: Date;
  now: Date;
}

function view(row: Row, door: DoorReason | undefined): ActionView {
  const state: ActionState = row.ended_state ?? (row.leased ? 'claimed' : 'pending');
  return {
    id: row.action_id,
    tenantId: row.tenant_id,
    laneId: row.lane_id,
    space: row.space,
    laneName: row.lane_name,
    channel: row.channel,
    kind: row.kind,
    payload: row.payload,
    priority: priorityName(row.priority),
    tags: row.tags ?? [],
    state,
    attempt: row.ended_attempt ?? (row.leased ? row.leased_attempt : row.last_attempt) ?? 0,
    failures: row.failures ?? 0,
    maxAttempts: row.max_attempts,
    headOfLine: row.head_of_line,
    leaseMs: row.lease_ms,
    createdAt: row.created_at,
    createdBy: row.created_by,
    notBefore: row.not_before,
    deliverBy: row.deliver_by,
    // a redriven one is without its clocks
    deadline: row.ended_state === null ? row.open_deadline : row.deadline,
    worker: row.leased ? row.worker : null,
    leasedAt: row.leased ? row.leased_at : null,
    leaseUntil: row.leased ? row.lease_until : null,
    startedAt: row.leased ? row.leased_at : row.ended_sent_at,
    cancelRequested: row.leased && row.cancel_requested,
    waitingFor: row.ended_state ? null : waitingFor(facts(row), door),
    endedAt: row.ended_at,
    reason: row.reason,
    error: row.error,
    result: row.result ?? null,
    copiedFrom: row.copied_from,
  };
}

function facts(row: Row) {
  return {
    tenantPaused: row.tenant_paused,
    pausedTag: row.paused_tag,
    pausedAt: row.paused_at,
    pausedBy: row.paused_by,
    lanePaused: row.lane_paused_at ? { at: row.lane_paused_at, by: row.lane_paused_by } : null,
    blocked: row.blocked,
    notBefore: row.waits_until,
    failures: row.failures ?? 0,
    deferrals: row.deferrals ?? 0,
    maxAttempts: row.max_attempts,
    ...(row.leased ? { attempt: row.leased_attempt ?? 0 } : {}),
    aheadId: row.ahead_id,
    urgent:
      row.urgent_id === null
        ? null
        : { id: row.urgent_id, channel: row.urgent_channel, until: row.urgent_until },
    slots: row.slots,
    running: row.running,
    leasedAt: row.leased ? row.leased_at : null,
    leaseUntil: row.lease_until,
    worker: row.worker,
    cancelRequested: row.cancel_requested,
    now: row.now,
  };
}
