import { EVENT_TYPES } from '../action.ts';
import {
  CLAIMED_COLUMNS,
  type ClaimedAction,
  type ClaimedRow,
  claimedAction,
  sent,
} from '../claimed-action.ts';
import { BUSY, type Context, type Operation, type Transition } from '../context.ts';
import { head, ms, NOW, pauses } from '../sql.ts';
import { createRedeliver } from './redeliver.ts';

/**
 * Addressed claim: the caller names its lane. The lane's row is read, its head looked up, the row locked (or skipped,
 * if somebody else has it) and updated only if its version is still the one that was read: whatever changed the lane or
 * its pending rows meanwhile has raised it. Without that check 347 double leases were seen in five seconds.
 */
export interface ClaimItem {
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
  readonly worker: string;
  readonly leaseMs: number;
  /** The generation the worker belongs to, if it knows. */
  readonly generation?: number | undefined;
  /** Never this action: its report was just refused. */
  readonly except?: string | undefined;
}

export type ClaimAnswer =
  | { readonly kind: 'claimed'; readonly action: ClaimedAction }
  | { readonly kind: 'empty' | 'held' | 'unknown-lane' | 'wrong-generation' };

interface Row extends ClaimedRow {
  ord: number;
  right_generation: boolean;
  candidate: string | null;
  held_by: string | null;
}

export function createClaim(context: Context): Operation<ClaimItem, ClaimAnswer> {
  const redeliver = createRedeliver(context);
  const text = statement(context.schema);
  return {
    name: 'claim',
    key: (item) => `${item.tenantId}:${item.laneId}`,
    async run(client, items) {
      const { rows } = await client.query({ name: 'muster_claim', text, values: values(context, items) });
      const answers: (ClaimAnswer | typeof BUSY)[] = items.map(() => ({ kind: 'unknown-lane' }));
      const transitions: Transition[] = [];
      const toRedeliver: number[] = [];
      for (const row of rows as Row[]) {
        const at = row.ord - 1;
        if (row.action_id) {
          answers[at] = { kind: 'claimed', action: claimedAction(row) };
          transitions.push(sent(row));
        } else if (!row.right_generation) {
          answers[at] = { kind: 'wrong-generation' };
        } else if (row.held_by !== null) {
          answers[at] = { kind: 'held' };
          if (row.held_by === items[at]?.worker) toRedeliver.push(at);
        } else {
          answers[at] = row.candidate ? BUSY : { kind: 'empty' };
        }
      }
      if (toRedeliver.length > 0) {
        const again = await redeliver(
          client,
          toRedeliver.map((at) => items[at] as ClaimItem),
        );
        again.forEach((row, n) => {
          if (!row) return;
          answers[toRedeliver[n] as number] = { kind: 'claimed', action: claimedAction(row, true) };
          transitions.push(sent(row, 'REDELIVERED'));
        });
      }
      return { answers, transitions, wakes: [] };
    },
  };
}

function values(context: Context, items: readonly ClaimItem[]): unknown[] {
  return [
    context.now(),
    items.map((item) => item.tenantId),
    items.map((item) => item.laneId),
    items.map((item) => item.channel),
    items.map((item) => item.worker),
    items.map((item) => item.leaseMs),
    items.map((item) => item.generation ?? null),
    items.map((item) => item.except ?? null),
  ];
}

const statement = (s: string) => `
  with i as materialized (
    select * from unnest($2::int[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::int[], $8::bigint[])
      with ordinality as i(tenant_id, lane_id, channel, worker, lease_ms, generation, except_action, ord)
  ), ${pauses(s)}, h as materialized (
    select i.ord, i.tenant_id, i.lane_id, i.worker, i.lease_ms, l.ver, l.worker as held_by,
      (i.generation is null or i.generation = l.generation) as right_generation,
      n.action_id, n.attempt, n.deadline, n.channel
    from i
    join ${s}.lanes l on l.tenant_id = i.tenant_id and l.lane_id = i.lane_id
    left join pz on pz.tenant_id = i.tenant_id
    left join lateral (${head(s, {
      channel: 'i.channel',
      when: 'l.action_id is null and (i.generation is null or i.generation = l.generation)',
      except: 'i.except_action',
    })}) n on true
  ), k as materialized (
    select h.ord from h
    join ${s}.lanes l on l.tenant_id = h.tenant_id and l.lane_id = h.lane_id and l.ver = h.ver
    where h.action_id is not null
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = h.action_id, attempt = h.attempt + 1, leased_at = ${NOW},
      lease_until = least(${NOW} + ${ms('h.lease_ms')}, h.deadline), worker = h.worker, lease_runner = null,
      cancel_requested = false, redelivered = 0
    from h join k on k.ord = h.ord
    where l.tenant_id = h.tenant_id and l.lane_id = h.lane_id
    returning h.ord, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.leased_at, l.lease_until, l.worker, l.cancel_requested, h.channel
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select u.tenant_id, u.action_id, u.lane_id, u.leased_at, ${EVENT_TYPES.SENT}, u.attempt, u.worker from u order by u.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select u.tenant_id, u.channel, x.state, count(*) * x.sign
      from u cross join (values ('pending', -1), ('claimed', 1)) x(state, sign)
      group by u.tenant_id, u.channel, x.state, x.sign
  )
  select h.ord::int, h.tenant_id, h.lane_id, h.right_generation, h.held_by, h.action_id as candidate, ${CLAIMED_COLUMNS}
  from h left join u on u.ord = h.ord
  left join ${s}.actions a on a.tenant_id = u.tenant_id and a.action_id = u.action_id`;
