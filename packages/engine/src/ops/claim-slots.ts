import { EVENT_TYPES } from '../action.ts';
import {
  CLAIMED_COLUMNS,
  type ClaimedAction,
  type ClaimedRow,
  claimedAction,
  sent,
} from '../claimed-action.ts';
import { BUSY, type Busy, type Context, type Operation, type Transition } from '../context.ts';
import { head, ms, NOW, pauses } from '../sql.ts';

/**
 * Slotted claim: a runner takes the oldest heads of its own lanes, one per lane, never more than its slots. Exact by the
 * version on the runner's own row: two claims that counted the same leases cannot both raise it (without it, 40 leases
 * were seen on 20 slots). It returns newly locked actions only.
 */
export interface ClaimSlotsItem {
  readonly tenantId: number;
  readonly runnerId: string;
  readonly channel: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly max: number;
}

export type ClaimSlotsAnswer =
  | { readonly kind: 'claimed'; readonly actions: ClaimedAction[] }
  | { readonly kind: 'unknown-runner' };

interface Row extends ClaimedRow {
  ord: number;
  wanted: number;
}

export function createClaimSlots(context: Context): Operation<ClaimSlotsItem, ClaimSlotsAnswer> {
  const text = statement(context.schema);
  return {
    name: 'claim-slots',
    key: (item) => `${item.tenantId}:${item.runnerId}`,
    async run(client, items) {
      const { rows } = await client.query({
        name: 'muster_claim_slots',
        text,
        values: [
          context.now(),
          items.map((item) => item.tenantId),
          items.map((item) => item.runnerId),
          items.map((item) => item.channel),
          items.map((item) => item.worker),
          items.map((item) => item.leaseMs),
          items.map((item) => item.max),
        ],
      });
      const answers: (ClaimSlotsAnswer | Busy)[] = items.map(() => ({ kind: 'unknown-runner' }));
      const transitions: Transition[] = [];
      for (const row of rows as Row[]) {
        const at = row.ord - 1;
        if (!row.action_id) {
          answers[at] = row.wanted > 0 ? BUSY : { kind: 'claimed', actions: [] };
          continue;
        }
        const before = answers[at];
        const actions = typeof before === 'object' && before.kind === 'claimed' ? before.actions : [];
        answers[at] = { kind: 'claimed', actions: [...actions, claimedAction(row)] };
        transitions.push(sent(row));
      }
      return { answers, transitions, wakes: [] };
    },
  };
}

/** How many slots are taken: the runner's own lanes, and those it lost by a move while it held them. */
export const runningOf = (s: string, r: string) => `(
      (select count(*) from ${s}.lanes l where l.tenant_id = ${r}.tenant_id and l.runner_id = ${r}.runner_id and l.lease_runner = ${r}.runner_id)
      + (select count(*) from ${s}.lanes l where l.tenant_id = ${r}.tenant_id and l.moved_from = ${r}.runner_id
          and l.lease_runner = ${r}.runner_id and l.runner_id is distinct from ${r}.runner_id))`;

const statement = (s: string) => `
  with i as materialized (
    select * from unnest($2::int[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::int[])
      with ordinality as i(tenant_id, runner_id, channel, worker, lease_ms, most, ord)
  ), ${pauses(s)}, f as materialized (
    select i.*, r.ver as runner_ver, least(i.most, coalesce(r.slots - ${runningOf(s, 'r')}, i.most)) as free
    from i join ${s}.runners r on r.tenant_id = i.tenant_id and r.runner_id = i.runner_id
  ), h as materialized (
    select * from (
      select f.ord, f.tenant_id, f.runner_id, f.runner_ver, f.worker, f.lease_ms, f.free, l.lane_id, l.ver, n.action_id, n.attempt,
        n.deadline, n.channel, row_number() over (partition by f.ord order by n.priority, n.seq) as nth
      from f
      join ${s}.lanes l on f.free > 0 and l.tenant_id = f.tenant_id and l.runner_id = f.runner_id
      left join pz on pz.tenant_id = f.tenant_id
      cross join lateral (${head(s, { channel: 'f.channel', when: 'l.action_id is null', except: 'null' })}) n
    ) x where x.nth <= x.free
  ), rk as materialized (
    select r.tenant_id, r.runner_id from (select distinct h.tenant_id, h.runner_id, h.runner_ver from h) h
    join ${s}.runners r on r.tenant_id = h.tenant_id and r.runner_id = h.runner_id and r.ver = h.runner_ver
    order by r.tenant_id, r.runner_id
    for update of r skip locked
  ), ru as (
    update ${s}.runners r set ver = r.ver + 1 from rk
    where r.tenant_id = rk.tenant_id and r.runner_id = rk.runner_id
    returning r.tenant_id, r.runner_id
  ), k as materialized (
    select l.tenant_id, l.lane_id from h
    join ru on ru.tenant_id = h.tenant_id and ru.runner_id = h.runner_id
    join ${s}.lanes l on l.tenant_id = h.tenant_id and l.lane_id = h.lane_id and l.ver = h.ver
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = h.action_id, attempt = h.attempt + 1, leased_at = ${NOW},
      lease_until = least(${NOW} + ${ms('h.lease_ms')}, h.deadline), worker = h.worker, lease_runner = h.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from h join k on k.tenant_id = h.tenant_id and k.lane_id = h.lane_id
    where l.tenant_id = h.tenant_id and l.lane_id = h.lane_id
    returning h.ord, h.nth, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested, h.channel
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select u.tenant_id, u.action_id, u.lane_id, u.leased_at, ${EVENT_TYPES.SENT}, u.attempt, u.worker from u order by u.ord, u.nth
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select u.tenant_id, u.channel, x.state, count(*) * x.sign
      from u cross join (values ('pending', -1), ('claimed', 1)) x(state, sign)
      group by u.tenant_id, u.channel, x.state, x.sign
  )
  select f.ord::int, f.tenant_id, u.lane_id, (select count(*)::int from h where h.ord = f.ord) as wanted, ${CLAIMED_COLUMNS}
  from f left join u on u.ord = f.ord
  left join ${s}.actions a on a.tenant_id = u.tenant_id and a.action_id = u.action_id
  order by f.ord, u.nth`;
