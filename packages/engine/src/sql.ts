/** Pieces of SQL that several statements share. Convention: `$1` is the time. */

export const NOW = '$1::timestamptz';

/**
 * The arrays of a gathered statement as rows. The sub-selects hide their length from the planner: it always assumes ten
 * rows and looks each one up by index, in a custom plan as in a generic one. It joins such sets with each other badly
 * (all with all), so every step carries along what later steps need instead.
 */
export const rows = (first: number, columns: Record<string, string>) => {
  const types = Object.values(columns);
  return `unnest(${types.map((type, n) => `(select $${first + n}::${type}[])`).join(', ')})
      with ordinality as i(${[...Object.keys(columns), 'ord'].join(', ')})`;
};

/** The channel whose actions may be delivered through any channel. */
export const ANY_CHANNEL = 'any';

/**
 * Looks one row up by its whole key. The planner may take any table for an empty one (see "Plans" in ARCHITECTURE.md);
 * it would then join by reading all of it, but it cannot join a look-up with `limit 1`.
 */
const one = (table: string, as: string, where: string) =>
  `(select * from ${table} ${as} where ${where} limit 1) ${as}`;
export const laneOf = (s: string, of: string) =>
  one(`${s}.lanes`, 'l', `l.tenant_id = ${of}.tenant_id and l.lane_id = ${of}.lane_id`);
export const actionOf = (s: string, of: string) =>
  one(`${s}.actions`, 'a', `a.tenant_id = ${of}.tenant_id and a.action_id = ${of}.action_id`);
export const pendingOf = (s: string, of: string) =>
  one(`${s}.pending`, 'p', `p.tenant_id = ${of}.tenant_id and p.action_id = ${of}.action_id`);
export const endingOf = (s: string, of: string) =>
  one(`${s}.endings`, 'z', `z.tenant_id = ${of}.tenant_id and z.action_id = ${of}.action_id`);

/**
 * The lane where action `a` is, with its row `p` of pending: one taken from a pool is in the worker's lane. Ended
 * actions are in their own lane.
 */
export const presentLane = (s: string) =>
  one(`${s}.lanes`, 'l', 'l.tenant_id = a.tenant_id and l.lane_id = coalesce(p.lane_id, a.lane_id)');

/**
 * Selects the index of this column, which is not used otherwise. Without it the primary key would do as well, and in a
 * table that is taken for an empty one it may look like the better way. Not in a statement that locks or writes the
 * same table: there the planner adds the condition's cost to every path alike.
 */
export const soughtBy = (s: string, column: string) => `${s}.sought_by(${column})`;

/** `row` (of pending, actions or lane_names) is of this lane. */
export const ofLane = (s: string, row: string, lane: string) =>
  `${row}.tenant_id = ${lane}.tenant_id and ${row}.lane_id = ${lane}.lane_id and ${soughtBy(s, `${row}.lane_id`)}`;
/** Lane `l` belongs to this runner, or did when it was moved. */
export const ofRunner = (s: string, runner: string, column: 'runner_id' | 'moved_from' = 'runner_id') =>
  `l.tenant_id = ${runner}.tenant_id and l.${column} = ${runner}.runner_id and ${soughtBy(s, `l.${column}`)}`;

/**
 * The row to be written is the one with this key. A written table cannot be a look-up, it must be joined, and a table
 * taken for one row of many pages would be read whole for that, by its index. An array cannot be joined by, so that
 * index only serves look-ups. A distributed database is given the tenant beside it (src/distributed).
 */
export const hasKeyOf = (row: string, from: string, ...columns: string[]) =>
  [
    `${row}.tenant_id = any(array[${from}.tenant_id])`,
    ...columns.map((c) => `${row}.${c} = ${from}.${c}`),
  ].join(' and ');

/** What is paused, one row per tenant; nearly always empty. */
export const pauses = (s: string) => `pz as materialized (
    select tenant_id, bool_or(tag = '') as everything, array_agg(tag) filter (where tag <> '') as tags
    from ${s}.pauses p group by tenant_id
  )`;

/** Neither lane `l` nor its tenant is stopped. */
export const IS_NOT_STOPPED = 'not l.paused and l.blocked is null and not coalesce(pz.everything, false)';
/** It can hand out actions as soon as it is free. A pool hands out through the lanes of its workers. */
const IS_OPEN = `${IS_NOT_STOPPED} and l.pool_id is distinct from l.lane_id`;

export const mayRun = (s: string, p = 'p') => `not ${p}.delayed and ${p}.generation = l.generation
        and (${p}.deadline is null or ${p}.deadline > ${NOW})
        and (${p}.deliver_by is null or ${p}.attempt > 0 or ${p}.deliver_by > ${NOW})
        and (pz.tags is null or (
          select 1 from ${s}.actions a where a.tenant_id = ${p}.tenant_id and a.action_id = ${p}.action_id and a.tags && pz.tags limit 1) is null)`;

/** `row` of pending is urgent and not delayed: only those are in an index of their own. */
export const isUrgent = (s: string, row: string) =>
  `${row}.priority = 0 and not ${row}.delayed and ${soughtBy(s, `${row}.priority`)}`;

/**
 * On which channels this lane's worker was recently seen; kept by itself, however the function is inlined: it must not
 * be joined with all lanes.
 */
export const heardOn = (s: string, of: string) =>
  `(select h.channel, h.until from ${s}.heard_on(${of}.tenant_id, ${of}.lane_id) h offset 0) h`;

/**
 * The urgent action of lane `l` that everything normal on `channel` has to wait for: it could be handed out now on
 * another channel, where its worker was recently seen (`heard_on`). Otherwise the channel that asks more often would
 * always be first. A lane with nothing urgent for another channel pays one look into an index that is nearly empty;
 * recent contacts are read only after that.
 */
export const urgentElsewhere = (s: string, channel: string) => {
  const other = (row: string) => `${row}.channel <> ${channel} and ${row}.channel <> '${ANY_CHANNEL}'`;
  return `
        select u.action_id, u.channel, h.until
        from (
          select u.tenant_id, u.lane_id from ${s}.pending u
          where u.tenant_id = l.tenant_id and u.lane_id = l.lane_id and ${isUrgent(s, 'u')} and ${other('u')} limit 1
        ) g
        cross join lateral ${heardOn(s, 'g')}
        cross join lateral (
          select u.action_id, u.channel, u.seq from ${s}.pending u
          where u.tenant_id = g.tenant_id and u.lane_id = g.lane_id and ${isUrgent(s, 'u')} and u.channel = h.channel
            and u.action_id is distinct from l.action_id and (u.not_before is null or u.not_before <= ${NOW}) and ${mayRun(s, 'u')}
          order by u.seq limit 1
        ) u
        where h.until > ${NOW} and ${other('h')}
        order by u.seq limit 1`;
};

/** Lane `l` may hand out an action of that priority on that channel, as far as other channels are concerned. */
const isFirstOfAll = (s: string, on: { channel: string; priority: string }) =>
  `(${on.priority} = 0 or (select u.action_id from (${urgentElsewhere(s, on.channel)}) u) is null)`;

interface OnLane {
  readonly channel: string;
  readonly when: string;
  readonly except: string;
  readonly passes?: string;
}

/**
 * The first action in lane `l` on that channel: two index probes, one for the channel and one for 'any'. A row that
 * holds the lane until its retry is due is found here and lets nothing behind it pass.
 */
export const first = (s: string, on: OnLane) => {
  const probe = (which: string) => `(
        select p.action_id, p.attempt, p.priority, p.seq, p.deadline, p.lease_ms, p.not_before, p.channel
        from ${s}.pending p
        where ${on.when} and ${IS_OPEN}
          and ${ofLane(s, 'p', 'l')} and ${which}
          and ${on.passes ?? (on.except === 'null' ? 'true' : `p.action_id is distinct from ${on.except}`)}
          and ${mayRun(s)}
        order by p.priority, p.seq limit 1)`;
  return `
        select * from (${probe(`p.channel = '${ANY_CHANNEL}'`)} union all ${probe(`p.channel = ${on.channel} and ${on.channel} <> '${ANY_CHANNEL}'`)}) p
        order by p.priority, p.seq limit 1`;
};

/** The action that lane `l` hands out next on that channel. */
export const head = (s: string, on: OnLane) => `
      select * from (${first(s, on)}
      ) p where (p.not_before is null or p.not_before <= ${NOW})${on.passes ? ` and ${isNoneOf('p.action_id', on.except)}` : ''}
        and ${isFirstOfAll(s, { channel: on.channel, priority: 'p.priority' })}`;

/**
 * Lane `l` would hand out a new action at once: it passes nothing that was assigned before it, whatever that waits for,
 * and nothing urgent waits on another channel.
 */
export const takesNew = (
  s: string,
  on: { channel: string; priority: string; tags: string },
) => `l.action_id is null and ${IS_OPEN}
        and not coalesce(pz.tags && ${on.tags}, false)
        and (select true from ${s}.pending p where ${ofLane(s, 'p', 'l')}
          and p.channel in (${on.channel}, '${ANY_CHANNEL}') and not p.delayed and p.generation = l.generation
          and p.priority <= ${on.priority} limit 1) is null
        and ${isFirstOfAll(s, on)}`;

/** Ids are a text array; null: there are none. */
export const isNoneOf = (id: string, ids: string) => `(${ids} is null or ${id} <> all(${ids}::bigint[]))`;

/** An action that cannot be handed out now is passed over only while it waits for a retry under 'skip'. */
export const passesOver = (
  s: string,
  except: string,
) => `(${isNoneOf('p.action_id', except)} or p.attempt = 0 or (
            select a.head_of_line from ${s}.actions a where a.tenant_id = p.tenant_id and a.action_id = p.action_id limit 1) = 'hold')`;

/**
 * Sets the end of lane `l`'s lease; null: it has none. Housekeeping finds ended leases by `check_at`, which is never
 * after the end of a lease. `check_at` only moves forward: an earlier planned visit stays, and the update is a HOT one.
 */
export const leaseUntil = (until: string) => `lease_until = ${until}, check_at = least(l.check_at, ${until})`;

/** Whether the first of these times has come: one look at the front of an index, whose condition is `of`, whatever statistics say. */
export const hasCome = (table: string, column: string, of = `${column} is not null`) =>
  `(select ${column} from ${table} where ${of} order by ${column} limit 1) <= ${NOW}`;

/**
 * The lane of `x`, locked, if it is still at the version that was read and no other transaction has it. Its key never
 * changes: an enqueue that keeps it from being deleted (`for key share`) does not block this.
 */
const lockedLane = (s: string) => `(
      select 1 from ${s}.lanes l where l.tenant_id = x.tenant_id and l.lane_id = x.lane_id and l.ver = x.ver limit 1
      for no key update skip locked
    )`;

/**
 * Locks the lane of each row of `from`, in one order for all statements, and keeps only the rows whose lane is still at
 * the version that was read. A lane that another transaction has locked is skipped, never waited for.
 */
export const lockLanes = (s: string, from: string, where = 'true') => `
    select x.* from (select * from ${from} x where ${where} order by x.tenant_id, x.lane_id) x
    cross join lateral ${lockedLane(s)} l`;

/**
 * The same for rows that are each about a waiting action: locked too, if it is still in that lane. A pool claim locks
 * no lane, it takes the actions it can lock, so this lock decides between it and any other change of the action. One
 * that was taken and has come back meanwhile has another attempt than `x`.
 */
export const lockWaiting = (s: string, from: string, where = 'true') => `${lockLanes(s, from, where)}
    cross join lateral (
      select 1 from ${s}.pending p where p.tenant_id = x.tenant_id and p.action_id = x.action_id and p.lane_id = x.lane_id
        and p.attempt <= x.attempt limit 1
      for update skip locked
    ) p`;

/**
 * The first rows of a select, in its order, whose lanes are not locked: lanes that an open transaction has locked do
 * not use up the number, so they delay nothing behind them.
 */
export const firstToLock = (s: string, select: string, most: number) => `
    select x.* from (${select}) x cross join lateral ${lockedLane(s)} l limit ${most}`;

/** Several rows of `from` may be of one lane: its version is raised once for all of them. */
export const raiseLanes = (s: string, from: string) => `
    update ${s}.lanes l set ver = l.ver + 1
    from (select distinct tenant_id, lane_id from ${from}) k where ${hasKeyOf('l', 'k', 'lane_id')}`;

/**
 * A wait before try n + 1: base, doubled n - 1 times, at most max, spread by ±20 % deterministically (so tests need no
 * random source). Whole ms, as times outside have.
 */
export const backoff = (on: { base: string; max: string; nth: string; action: string }) => `round(
      least(least(${on.base} * power(2, least(${on.nth}, 30) - 1), ${on.max})
        * (0.8 + 0.4 * ((hashint8(${on.action} * 31 + ${on.nth}) & 65535) / 65535.0)), ${on.max}))`;

export const ms = (n: string) => `(${n}) * interval '1 millisecond'`;
