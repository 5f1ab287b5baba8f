import type { Engine, Queryable, Transition } from '@muster/engine';
import { BoundedMap } from '../bounded-map.ts';
import { CHECKIN } from './device-token.ts';
import { type Meaning, meaningOf } from './milestone-types.ts';

/**
 * Writes a milestone for everything that happens to a device's actions, in the transaction in which it happens, with
 * the device's expiry before and after what is still to come. Hangs on the engine's transitions, so nothing that ends
 * an action can forget it: not a report, not housekeeping, not a cancel.
 *
 * Nearly all transitions move no expiry: one statement writes those of a whole batch. Devices whose expiry moves are
 * locked first, so that two transactions at once cannot both write what was true before the other.
 */

/** What a hand-out found out in passing, for the answer of the check-in that got it. */
export interface HandOutFacts {
  readonly source: string;
  readonly milestoneId: string;
  /** How many wait behind it, up to PENDING_UP_TO. */
  readonly pending: number;
}

export const PENDING_UP_TO = 100;
const MOST_FACTS = 50_000;

interface Happened extends Meaning {
  readonly transition: Transition;
}

interface Statement {
  readonly name: string;
  readonly text: string;
}

interface Row {
  ord: number;
  moves: boolean;
  source: string | null;
  milestone_id: string | null;
  ack: 'onReport' | 'onDelivery';
  pending: number | null;
}

export class Milestones {
  readonly #engine: Engine;
  readonly #plain: Statement;
  readonly #moving: Statement;
  readonly #facts = new BoundedMap<string, HandOutFacts>(MOST_FACTS);

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#plain = { name: 'muster_milestones', text: plainStatement(engine.schema) };
    this.#moving = { name: 'muster_milestones_moving', text: movingStatement(engine.schema) };
  }

  register(): void {
    this.#engine.onTransitions(CHECKIN, (client, transitions) => this.#write(client, transitions));
  }

  /** Once, by whoever answers for this hand-out. */
  takeFacts(tenantId: number, actionId: string, attempt: number): HandOutFacts | undefined {
    const key = `${tenantId}:${actionId}:${attempt}`;
    const facts = this.#facts.get(key);
    this.#facts.delete(key);
    return facts;
  }

  async #write(client: Queryable, transitions: readonly Transition[]): Promise<void> {
    const happened: Happened[] = transitions.flatMap((transition) => {
      const meaning = meaningOf(transition);
      return meaning ? [{ ...meaning, transition }] : [];
    });
    if (happened.length === 0) return;
    const rows = await insert(client, this.#plain, happened);
    const moving = rows.flatMap((row) => (row.moves ? [happened[row.ord - 1] as Happened] : []));
    if (moving.length > 0) {
      await this.#lock(client, moving);
      await insert(client, this.#moving, moving);
    }
    const ended: Transition[] = [];
    for (const row of rows) {
      const { transition, type } = happened[row.ord - 1] as Happened;
      if (type !== 'sent' && type !== 'resent') continue;
      if (row.milestone_id !== null && row.source !== null)
        this.#facts.set(`${transition.tenantId}:${transition.actionId}:${transition.attempt}`, {
          source: row.source,
          milestoneId: row.milestone_id,
          pending: row.pending ?? 0,
        });
      if (type === 'sent' && row.ack === 'onDelivery') ended.push(transition);
    }
    await this.#endOnDelivery(client, ended);
  }

  /** Fire and forget: handed out is done, in the transaction of the hand-out. Leads here again, as a success. */
  async #endOnDelivery(client: Queryable, transitions: readonly Transition[]): Promise<void> {
    if (transitions.length === 0) return;
    await this.#engine.reportMany(
      client,
      transitions.map(({ tenantId, actionId, attempt }) => ({
        tenantId,
        actionId,
        attempt,
        status: 'succeeded',
      })),
    );
  }

  async #lock(client: Queryable, moving: readonly Happened[]): Promise<void> {
    const s = this.#engine.schema;
    await client.query({
      name: 'muster_lock_devices_of_lanes',
      text: `select 1 from (
          select distinct d.tenant_id, d.device_id from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, lane_id)
          cross join lateral (${deviceOfLane(s)}) d order by d.tenant_id, d.device_id
        ) i
        cross join lateral (
          select 1 from ${s}.devices d where d.tenant_id = i.tenant_id and d.device_id = i.device_id limit 1 for no key update
        ) d`,
      values: [
        moving.map(({ transition }) => transition.tenantId),
        moving.map(({ transition }) => transition.laneId),
      ],
    });
  }
}

async function insert(
  client: Queryable,
  statement: Statement,
  happened: readonly Happened[],
): Promise<Row[]> {
  const { rows } = await client.query({
    ...statement,
    values: [
      happened.map(({ transition }) => transition.tenantId),
      happened.map(({ transition }) => transition.laneId),
      happened.map(({ transition }) => transition.actionId),
      happened.map(({ transition }) => transition.at),
      happened.map(({ type }) => type),
      happened.map(({ toExpiry }) => toExpiry),
      happened.map(({ toProjection }) => toProjection),
    ],
  });
  return rows;
}

/** The days that unfinished actions of device `d` would add. */
export const unfinishedDays = (s: string, d: string) => `(
      select coalesce(sum(b.more_days), 0)::int as days from ${s}.assignments b
      cross join lateral (select 1 from ${s}.unfinished_actions u where u.tenant_id = b.tenant_id and u.action_id = b.action_id limit 1) u
      where b.tenant_id = ${d}.tenant_id and b.device_id = ${d}.device_id and ${s}.sought_by(b.device_id) and b.more_days <> 0)`;

/** The device whose lane `i` names. */
const deviceOfLane = (s: string) =>
  `select * from ${s}.devices d where d.tenant_id = i.tenant_id and d.lane_id = i.lane_id and ${s}.sought_by(d.lane_id) limit 1`;

/** A day of an expiry has 24 hours, in every time zone and every season. */
export const days = (n: string) => `(${n}) * interval '24 hours'`;

/** The transitions as rows, with their devices and what is known of their actions. The arrays begin at parameter `first`. */
const transitions = (s: string, first: number, more: { columns: string; joins: string }) => {
  const types = ['int', 'bigint', 'bigint', 'timestamptz', 'text', 'int', 'int'];
  return `
    select i.ord, i.tenant_id, i.lane_id, i.action_id, i.at, i.type, d.device_id, d.expires_at, coalesce(b.ack, d.ack) as ack,
      b.source, b.assigned_by, b.milestone_id, coalesce(b.more_days, 0) as more_days, ${more.columns}
    from unnest(${types.map((type, n) => `(select $${first + n}::${type}[])`).join(', ')})
      with ordinality as i(tenant_id, lane_id, action_id, at, type, to_expiry, to_projection, ord)
    cross join lateral (${deviceOfLane(s)}) d
    left join lateral (
      select b.source, b.assigned_by, b.milestone_id, b.more_days, b.ack from ${s}.assignments b
      where b.tenant_id = i.tenant_id and b.action_id = i.action_id limit 1
    ) b on true ${more.joins}`;
};

const COLUMNS =
  'tenant_id, device_id, type, action_id, source, by, at, more_days, expires_at, projected_expires_at';

/**
 * The way of nearly all: devices whose expiry does not move in this statement. Says which rows it left out because their
 * device's does, and what the answers of hand-outs need.
 */
const plainStatement = (s: string) => `
  with i as materialized (${transitions(s, 1, {
    columns: '(i.to_expiry <> 0 or i.to_projection <> 0) and coalesce(b.more_days, 0) <> 0 as moves',
    joins: '',
  })}
  ), m as (
    insert into ${s}.milestones (${COLUMNS})
      select i.tenant_id, i.device_id, i.type, i.action_id, i.source, i.assigned_by, i.at, i.more_days, i.expires_at,
        case when i.expires_at is not null then i.expires_at + ${days(unfinishedDays(s, 'i'))} end
      from i where (i.tenant_id, i.device_id) not in (select x.tenant_id, x.device_id from i x where x.moves) order by i.ord
  )
  select i.ord::int, (i.tenant_id, i.device_id) in (select x.tenant_id, x.device_id from i x where x.moves) as moves,
    i.source, i.milestone_id, i.ack,
    case when i.type in ('sent', 'resent') then (
      -- the one that was handed out is among them
      select count(*)::int - 1 from (
        select 1 from ${s}.unfinished_actions u where u.tenant_id = i.tenant_id and u.lane_id = i.lane_id and ${s}.sought_by(u.lane_id)
          and u.channel in ('${CHECKIN}', 'any') limit ${PENDING_UP_TO + 1}
      ) x
    ) end as pending
  from i where i.type in ('sent', 'resent') or (i.tenant_id, i.device_id) in (select x.tenant_id, x.device_id from i x where x.moves)`;

/**
 * Devices whose expiry moves, locked before. Several transitions of one device: each row gets the expiry as it was after
 * that row, counted back from the end. `last` tells a success that follows a failure: its days had been taken back and
 * are added to both.
 */
const movingStatement = (s: string) => `
  with i as materialized (${transitions(s, 1, {
    columns: `i.to_expiry * coalesce(b.more_days, 0) as e_days,
      (i.to_projection + case when i.to_expiry = 1 and last.type = 'failed' then 1 else 0 end) * coalesce(b.more_days, 0) as p_days`,
    joins: `left join lateral (
      select m.type from ${s}.milestones m
      where i.to_expiry = 1 and m.tenant_id = i.tenant_id and m.device_id = d.device_id and m.action_id = i.action_id
      order by m.milestone_id desc limit 1
    ) last on true`,
  })}
  ), j as materialized (
    select i.*, sum(e_days) over whole as e_total,
      coalesce(sum(e_days) over after_this, 0) as e_later, coalesce(sum(p_days) over after_this, 0) as p_later
    from i
    window whole as (partition by tenant_id, device_id),
      after_this as (partition by tenant_id, device_id order by ord rows between 1 following and unbounded following)
  ), m as (
    insert into ${s}.milestones (${COLUMNS})
      select j.tenant_id, j.device_id, j.type, j.action_id, j.source, j.assigned_by, j.at, j.more_days,
        j.expires_at + ${days('j.e_total - j.e_later')},
        j.expires_at + ${days(`j.e_total - j.p_later + ${unfinishedDays(s, 'j')}`)}
      from j order by j.ord
  )
  update ${s}.devices d set expires_at = d.expires_at + ${days('x.e_total')}
  from (select distinct tenant_id, device_id, e_total from j where e_total <> 0) x
  where d.tenant_id = any(array[x.tenant_id]) and d.device_id = x.device_id`;
