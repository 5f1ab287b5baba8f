import { LONGEST_WAIT_MS } from '../claiming.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { hasCome, hasKeyOf, ms, NOW, ofLane, rows } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/**
 * Deletes empty lanes that were made on first use and have no owner. An enqueue takes no lock on its lane, so a lane
 * that looks empty may be about to get an action. Deletion therefore takes two steps:
 *
 * First the lane is closed. A caller that wants to use it from then on finds it unknown, ensures it by name, and so
 * opens it again. It stays closed at least as long as a claim that began before can wait. It is deleted only if it is
 * still empty then, and all transactions that may have seen it open are over: those that ran when it was seen closed
 * (as with an old generation, see end-stale.ts). A transaction that keeps its first snapshot locks the lane, which
 * then cannot be deleted.
 */
const MOST = 500;
const DAY_MS = 86_400_000;
const SOON_MS = 60_000;

interface Entry {
  tenant_id: number;
  lane_id: string;
  ver: string;
  /** The transaction had no number before it read this. */
  fresh: boolean;
  ownerless: boolean;
  closing: boolean;
  seen: boolean;
  /** No transaction is left that saw the lane open. */
  safe: boolean;
  empty: boolean;
  kept: boolean;
}

export function createForgetLanes(
  context: Context,
  options: { of: readonly string[]; afterMs?: number; retentionDays: number },
): Duty {
  const s = context.schema;
  const closedMs = Math.max(options.afterMs ?? 0, LONGEST_WAIT_MS);
  const texts = statements(s);

  async function perform(
    client: Queryable,
    name: keyof typeof texts,
    lanes: readonly Entry[],
    more: unknown[] = [],
  ) {
    if (lanes.length === 0) return [];
    const { rows: done } = await client.query({
      name: `muster_forget_${name}`,
      text: texts[name],
      values: [context.now(), lanes.map((one) => one.tenant_id), lanes.map((one) => one.lane_id), ...more],
    });
    return done as { tenant_id: number; lane_id: string }[];
  }
  const putOff = (client: Queryable, lanes: readonly Entry[], byMs: (lane: Entry) => number) =>
    perform(client, 'put_off', lanes, [lanes.map(byMs)]);

  /** What was locked is read again: changes committed before the lock are visible now. */
  async function forget(client: Queryable, closed: readonly Entry[]): Promise<number> {
    const locked = new Set((await perform(client, 'lock', closed)).map((row) => row.lane_id));
    const ours = closed.filter((lane) => locked.has(lane.lane_id));
    const gone = new Set((await perform(client, 'delete', ours)).map((row) => row.lane_id));
    const used = ours.filter((lane) => !gone.has(lane.lane_id));
    await perform(client, 'reopen', used);
    await putOff(client, used, () => DAY_MS);
    return gone.size;
  }

  return {
    name: 'forget-lanes',
    everyMs: 1_000,
    byIndex: true,
    due: hasCome(`${s}.lanes_to_forget`, 'look_at'),
    whose: `select distinct f.tenant_id from ${s}.lanes_to_forget f where f.look_at <= ${NOW}`,
    async runOnce(client) {
      const { rows: due } = await client.query({
        name: 'muster_forget_look',
        text: lookStatement(s),
        values: [context.now(), options.of],
      });
      const entries = due as Entry[];
      const ownerless = entries.filter((lane) => lane.ownerless);
      const open = ownerless.filter((lane) => !lane.closing);
      const closed = ownerless.filter((lane) => lane.closing);
      await perform(
        client,
        'see',
        closed.filter((lane) => !lane.seen && lane.fresh),
        [closedMs],
      );
      await putOff(
        client,
        closed.filter((lane) => lane.seen && !lane.safe),
        () => SOON_MS,
      );
      const count = await forget(
        client,
        closed.filter((lane) => lane.seen && lane.safe),
      );
      const empty = open.filter((lane) => lane.empty);
      await perform(client, 'close', empty, [empty.map((lane) => lane.ver)]);
      // ended actions are kept for some days, and so is their lane
      const used = open.filter((lane) => !lane.empty);
      await putOff(client, used, (lane) => (lane.kept ? Math.max(options.retentionDays, 1) : 1) * DAY_MS);
      await perform(
        client,
        'leave',
        entries.filter((lane) => !lane.ownerless),
      );
      return { ...dutyRun(count, MOST), more: entries.length >= MOST };
    },
  };
}

/** Nothing in it, and nothing about it that would be lost. */
const isEmpty = (
  s: string,
) => `l.action_id is null and not l.paused and l.blocked is null and l.runner_id is null and l.moved_from is null and l.pool_id is null
      and l.generation = 1
      and (select 1 from ${s}.actions a where ${ofLane(s, 'a', 'l')} limit 1) is null
      and (select 1 from ${s}.pending p where ${ofLane(s, 'p', 'l')} limit 1) is null
      and (select 1 from ${s}.stale_lanes t where t.tenant_id = l.tenant_id and t.lane_id = l.lane_id limit 1) is null`;

/** The entries stay locked, so two leaders never have the same. */
const lookStatement = (s: string) => `
  with fresh as materialized (select pg_current_xact_id_if_assigned() is null as yes)
  select f.tenant_id, f.lane_id, coalesce(l.ver, 0) as ver, fresh.yes as fresh, coalesce(l.closing, false) as closing, f.safe_from is not null as seen,
    coalesce(f.safe_from <= pg_snapshot_xmin(pg_current_snapshot()), false) as safe, coalesce(${isEmpty(s)}, false) as empty,
    (select 1 from ${s}.actions a where ${ofLane(s, 'a', 'f')} limit 1) is not null as kept,
    l.ver is not null and (
      select n.space = any ($2::text[]) from ${s}.lane_names n where ${ofLane(s, 'n', 'f')} limit 1
    ) is true as ownerless
  from fresh cross join lateral (
    select * from ${s}.lanes_to_forget f where fresh.yes is not null and f.look_at <= ${NOW} order by f.look_at limit ${MOST} for update skip locked
  ) f
  left join lateral (select * from ${s}.lanes l where l.tenant_id = f.tenant_id and l.lane_id = f.lane_id limit 1) l on true`;

const statements = (s: string) => {
  const keys = (more: Record<string, string> = {}) =>
    rows(2, { tenant_id: 'int', lane_id: 'bigint', ...more });
  const entry = hasKeyOf('f', 'i', 'lane_id');
  return {
    see: `update ${s}.lanes_to_forget f set safe_from = pg_current_xact_id(), look_at = ${NOW} + ${ms('$4::double precision')} from ${keys()} where ${entry}`,
    put_off: `update ${s}.lanes_to_forget f set look_at = i.at
      from (select i.tenant_id, i.lane_id, ${NOW} + ${ms('i.by_ms')} as at from ${keys({ by_ms: 'double precision' })}) i where ${entry}`,
    leave: `delete from ${s}.lanes_to_forget f using ${keys()} where ${entry} and ${NOW} is not null`,
    close: `
      with k as materialized (
        select i.tenant_id, i.lane_id from ${keys({ ver: 'bigint' })} cross join lateral (
          select 1 from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and l.ver = i.ver limit 1 for no key update skip locked
        ) l
      ), u as (
        update ${s}.lanes l set closing = true, ver = l.ver + 1 from k where ${hasKeyOf('l', 'k', 'lane_id')}
      )
      update ${s}.lanes_to_forget f set safe_from = null, look_at = ${NOW} from k i where ${entry}`,
    lock: `
      select i.tenant_id, i.lane_id from ${keys()} cross join lateral (
        select 1 from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and l.closing limit 1 for update skip locked
      ) l where ${NOW} is not null`,
    delete: `
      with k as materialized (
        select i.tenant_id, i.lane_id, n.space, n.name from ${keys()} cross join lateral (
          select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and l.closing limit 1
        ) l
        cross join lateral (select * from ${s}.lane_names n where ${ofLane(s, 'n', 'i')} limit 1) n where ${isEmpty(s)} and ${NOW} is not null
      ), n as (
        delete from ${s}.lane_names n using k where ${hasKeyOf('n', 'k', 'space', 'name')}
      ), f as (
        delete from ${s}.lanes_to_forget f using k i where ${entry}
      )
      delete from ${s}.lanes l using k where ${hasKeyOf('l', 'k', 'lane_id')} returning l.tenant_id, l.lane_id`,
    reopen: `
      update ${s}.lanes l set closing = false, ver = l.ver + 1 from ${keys()}
      where ${hasKeyOf('l', 'i', 'lane_id')} and l.closing and ${NOW} is not null`,
  };
};
