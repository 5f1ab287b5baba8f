import { eventName } from '../action.ts';
import { ofTenant } from '../by-tenant.ts';
import type { Database, Queryable } from '../db.ts';
import { checkSchemaName } from '../migrate.ts';
import { ofLane, soughtBy } from '../sql.ts';
import {
  type CheckedAction,
  type CheckedEvent,
  type CheckedLease,
  checkLeases,
  checkLife,
} from './action-life.ts';
import { type Violation, violation } from './violation.ts';

/**
 * Checks the whole history of an installation against its tables, while it is in use and without changing anything.
 * It reads lane by lane, in pages, and on a distributed database tenant by tenant. Each page is one read-only
 * transaction with one snapshot, because a lane must be seen at one moment; pages are short, because a long snapshot
 * slows a queue down. Memory holds the actions of one page and the leases of one lane.
 *
 * It does not see what callers were told, so it cannot verify their answers; the crash suite does that.
 */
export interface FoundViolation extends Violation {
  readonly tenantId: number;
  /** Of the action, if the violation is about one. */
  readonly history: readonly CheckedEvent[];
}

export interface CheckSummary {
  readonly lanes: number;
  readonly actions: number;
  readonly events: number;
  readonly violations: number;
}

const LANES_PER_PAGE = 50;
const ACTIONS_PER_STATEMENT = 1_000;

interface LaneRow {
  tenant_id: number;
  lane_id: string;
  old_generation: string[];
  /** The action whose lease would never end. */
  unwatched: string | null;
}

interface ActionRow {
  tenant_id: number;
  lane_id: string;
  action_id: string;
  deadline: Date | null;
  on_lease_end: CheckedAction['onLeaseEnd'];
  pending: boolean;
  leased_attempt: number | null;
  ended: CheckedAction['ended'];
  events: CheckedEvent[];
}

export async function checkInstallation(
  db: Database,
  options: {
    schema?: string;
    onViolation: (found: FoundViolation) => void;
    onPage?: (so: CheckSummary) => void;
  },
): Promise<CheckSummary> {
  const s = checkSchemaName(options.schema ?? 'muster');
  const sum = { lanes: 0, actions: 0, events: 0, violations: 0 };
  const tell = (tenantId: number, found: Violation, history: readonly CheckedEvent[]) => {
    sum.violations += 1;
    options.onViolation({ ...found, tenantId, history });
  };

  async function page(tx: Queryable, after: LaneRow | null): Promise<LaneRow | null> {
    const lanes = await readLanes(tx, s, after);
    const last = lanes.at(-1);
    if (!last) return null;
    sum.lanes += lanes.length;
    for (const lane of lanes) {
      if (lane.unwatched !== null)
        tell(
          lane.tenant_id,
          violation(
            'unwatched-lease',
            lane.unwatched,
            `lane ${lane.lane_id} will not be checked when the lease of action ${lane.unwatched} ends`,
          ),
          await readHistory(tx, s, lane.tenant_id, lane.unwatched),
        );
      for (const actionId of lane.old_generation)
        tell(
          lane.tenant_id,
          violation(
            'wrong-generation',
            actionId,
            `action ${actionId} belongs to an older generation and is still in lane ${lane.lane_id}`,
          ),
          await readHistory(tx, s, lane.tenant_id, actionId),
        );
    }
    let leases: CheckedLease[] = [];
    let lane: { tenant_id: number; lane_id: string } | null = null;
    const endLane = async () => {
      if (lane)
        for (const found of checkLeases(leases))
          tell(lane.tenant_id, found, await readHistory(tx, s, lane.tenant_id, found.actionId as string));
      leases = [];
    };
    for (let from: ActionRow | null = null; ; ) {
      const actions: ActionRow[] = await readActions(tx, s, { after, from, last });
      for (const row of actions) {
        if (row.lane_id !== lane?.lane_id || row.tenant_id !== lane.tenant_id) {
          await endLane();
          lane = row;
        }
        const life = checkLife(checked(row), row.events);
        for (const found of life.violations) tell(row.tenant_id, found, row.events);
        leases.push(...life.leases);
        sum.actions += 1;
        sum.events += row.events.length;
      }
      from = actions.at(-1) ?? null;
      if (actions.length < ACTIONS_PER_STATEMENT) break;
    }
    await endLane();
    return last;
  }

  for (const whose of await tenantsToRead(db, s)) {
    let after: LaneRow | null = null;
    do {
      after = await inOneSnapshot(db, whose, (tx) => page(tx, after));
      options.onPage?.(sum);
    } while (after);
    await inOneSnapshot(db, whose, async (tx) => {
      const found = [
        ...(await countDifferences(tx, s)),
        ...(await tagDifferences(tx, s)),
        ...(await strayRows(tx, s)),
      ];
      for (const one of found) tell(one.tenantId, one.found, []);
    });
  }
  return sum;
}

/** `whose`: the tenant, or null for all of them. Only what is of one tenant has one snapshot on a distributed database. */
function inOneSnapshot<T>(
  db: Database,
  whose: number | null,
  read: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return db.transaction(
    async (tx) => {
      await tx.query({ text: 'set transaction isolation level repeatable read, read only' });
      return read(whose === null ? tx : ofTenant(tx, whose));
    },
    { lockMs: 0, statementMs: 0 },
  );
}

/** Null: all of them. A tenant is in any of the tables: without its lanes, its other rows would be strays. */
async function tenantsToRead(db: Database, s: string): Promise<(number | null)[]> {
  if (!db.isDistributed) return [null];
  const tenants = new Set<number>();
  await db.transaction(
    async (tx) => {
      for (const table of CHECKED) {
        const { rows } = await tx.query({ text: `select distinct x.tenant_id from ${s}.${table} x` });
        for (const row of rows) tenants.add(row.tenant_id);
      }
    },
    { lockMs: 0, statementMs: 0 },
  );
  return [...tenants].sort((a, b) => a - b);
}

const CHECKED = [
  ...['lanes', 'actions', 'pending', 'endings', 'events'],
  ...['action_tags', 'count_changes', 'idempotency_keys'],
];

function checked(row: ActionRow): CheckedAction {
  return {
    id: row.action_id,
    deadline: row.deadline,
    onLeaseEnd: row.on_lease_end,
    pending: row.pending,
    leasedAttempt: row.leased_attempt,
    ended: row.ended,
  };
}

/** Actions of an older generation end by themselves as long as their lane is on the list of stale lanes. */
async function readLanes(tx: Queryable, s: string, after: LaneRow | null): Promise<LaneRow[]> {
  const { rows } = await tx.query({
    text: `select l.tenant_id, l.lane_id, array(
        select p.action_id from ${s}.pending p
        where ${ofLane(s, 'p', 'l')} and p.generation <> l.generation and not exists (
          select 1 from ${s}.stale_lanes st where st.tenant_id = l.tenant_id and st.lane_id = l.lane_id)
      )::text[] as old_generation,
      case when l.lease_until is not null and (l.check_at <= l.lease_until) is not true then l.action_id end as unwatched
      from ${s}.lanes l where (l.tenant_id, l.lane_id) > ($1::int, $2::bigint)
      order by l.tenant_id, l.lane_id limit ${LANES_PER_PAGE}`,
    values: [after?.tenant_id ?? -1, after?.lane_id ?? '0'],
  });
  return rows;
}

async function readActions(
  tx: Queryable,
  s: string,
  page: { after: LaneRow | null; from: ActionRow | null; last: LaneRow },
): Promise<ActionRow[]> {
  const { after, from, last } = page;
  const { rows } = await tx.query({
    text: `select a.tenant_id, a.lane_id, a.action_id, a.deadline, a.on_lease_end, p.action_id is not null as pending,
        case when l.action_id = a.action_id then l.attempt end as leased_attempt, z.state as ended
      from (
        select * from ${s}.actions a
        where (a.tenant_id, a.lane_id, a.action_id) > ($1::int, $2::bigint, $3::bigint)
          and (a.tenant_id, a.lane_id) <= ($4::int, $5::bigint) and ${soughtBy(s, 'a.lane_id')}
        order by a.tenant_id, a.lane_id, a.action_id limit ${ACTIONS_PER_STATEMENT}
      ) a
      left join ${s}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id
      left join ${s}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
      left join ${s}.lanes l on l.tenant_id = a.tenant_id and l.lane_id = coalesce(p.lane_id, a.lane_id)
      order by a.tenant_id, a.lane_id, a.action_id`,
    values: [
      from?.tenant_id ?? after?.tenant_id ?? -1,
      from?.lane_id ?? after?.lane_id ?? '0',
      from?.action_id ?? LARGEST, // after the last action of the last lane of the previous page
      last.tenant_id,
      last.lane_id,
    ],
  });
  const actions = rows.map((row): ActionRow => ({ ...row, events: [] }));
  await addEvents(tx, s, actions);
  return actions;
}

const LARGEST = '9223372036854775807';

async function addEvents(tx: Queryable, s: string, actions: readonly ActionRow[]): Promise<void> {
  const { rows } = await tx.query({
    text: `select i.ord::int, e.event_id, e.action_id, e.lane_id, e.type, e.attempt, e.at, e.reason
      from unnest($1::int[], $2::bigint[]) with ordinality as i(tenant_id, action_id, ord)
      cross join lateral (
        select * from ${s}.history e where e.tenant_id = i.tenant_id and e.action_id = i.action_id order by e.event_id
      ) e`,
    values: [actions.map((row) => row.tenant_id), actions.map((row) => row.action_id)],
  });
  for (const row of rows) actions[row.ord - 1]?.events.push(checkedEvent(row));
}

async function readHistory(
  tx: Queryable,
  s: string,
  tenantId: number,
  actionId: string,
): Promise<CheckedEvent[]> {
  const { rows } = await tx.query({
    text: `select event_id, action_id, lane_id, type, attempt, at, reason from ${s}.history
      where tenant_id = $1 and action_id = $2 order by event_id`,
    values: [tenantId, actionId],
  });
  return rows.map(checkedEvent);
}

function checkedEvent(row: {
  event_id: string;
  action_id: string;
  lane_id: string;
  type: number;
  attempt: number;
  at: Date;
  reason: string | null;
}): CheckedEvent {
  return {
    id: BigInt(row.event_id),
    actionId: row.action_id,
    laneId: row.lane_id,
    type: eventName(row.type),
    attempt: row.attempt,
    at: row.at,
    reason: row.reason,
  };
}

interface OfTenant {
  readonly tenantId: number;
  readonly found: Violation;
}

async function countDifferences(tx: Queryable, s: string): Promise<OfTenant[]> {
  const { rows } = await tx.query({
    text: `select c.tenant_id, c.channel, c.state, sum(c.kept)::text as kept, sum(c.real)::text as real from (
        select tenant_id, channel, state, sum(change) as kept, 0 as real from ${s}.count_changes group by 1, 2, 3
        union all
        select tenant_id, channel, state, 0, count(*) from ${s}.action_states group by 1, 2, 3
      ) c group by 1, 2, 3 having sum(c.kept) <> sum(c.real) order by 1, 2, 3`,
  });
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    found: violation(
      'counts-differ',
      null,
      `${row.channel} ${row.state}: ${row.kept}, a recount gives ${row.real}`,
    ),
  }));
}

/** `action_tags` must hold the tags of every action, and no others. */
async function tagDifferences(tx: Queryable, s: string): Promise<OfTenant[]> {
  const { rows } = await tx.query({
    text: `select a.tenant_id, a.action_id, x.tag, true as is_missing from ${s}.actions a cross join lateral unnest(a.tags) x(tag)
        where not exists (select 1 from ${s}.action_tags t where t.tenant_id = a.tenant_id and t.tag = x.tag and t.action_id = a.action_id)
      union all
      select t.tenant_id, t.action_id, t.tag, false from ${s}.action_tags t
        where not exists (select 1 from ${s}.actions a where a.tenant_id = t.tenant_id and a.action_id = t.action_id and t.tag = any(a.tags))`,
  });
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    found: violation(
      'state-differs',
      row.action_id,
      row.is_missing
        ? `action ${row.action_id} has the tag ${row.tag}, which is missing in action_tags`
        : `action_tags has the tag ${row.tag} of action ${row.action_id}, which does not have it`,
    ),
  }));
}

/** Rows without their action, actions without their lane, and leases without their action. */
async function strayRows(tx: Queryable, s: string): Promise<OfTenant[]> {
  const tables = ['pending', 'endings', 'idempotency_keys'].map(
    (table) => `select x.tenant_id, '${table}' as place, x.action_id from ${s}.${table} x
      where not exists (select 1 from ${s}.actions a where a.tenant_id = x.tenant_id and a.action_id = x.action_id)`,
  );
  const homeless = await tx.query({
    text: `select a.tenant_id, a.lane_id, a.action_id from ${s}.actions a
      where not exists (select 1 from ${s}.lanes l where l.tenant_id = a.tenant_id and l.lane_id = a.lane_id)`,
  });
  const { rows } = await tx.query({
    text: `${tables.join(' union all ')}
      union all select l.tenant_id, 'lane ' || l.lane_id, l.action_id from ${s}.lanes l where l.action_id is not null
        and not exists (select 1 from ${s}.pending p where p.tenant_id = l.tenant_id and p.action_id = l.action_id)`,
  });
  const ofTenant = (tenantId: number, actionId: string, why: string) => ({
    tenantId,
    found: violation('state-differs', actionId, why),
  });
  return [
    ...rows.map((row) =>
      ofTenant(
        row.tenant_id,
        row.action_id,
        `${row.place} names action ${row.action_id}, which does not exist`,
      ),
    ),
    ...homeless.rows.map((row) =>
      ofTenant(
        row.tenant_id,
        row.action_id,
        `action ${row.action_id} is in lane ${row.lane_id}, which does not exist`,
      ),
    ),
  ];
}
