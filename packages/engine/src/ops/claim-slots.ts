import { EVENT_TYPES } from '../action.ts';
import {
  ACTION_COLUMNS,
  type ClaimedAction,
  type ClaimedRow,
  claimedAction,
  NO_ACTION_COLUMNS,
  sent,
} from '../claimed-action.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { ANY_CHANNEL, hasKeyOf, head, leaseUntil, lockLanes, ms, NOW, ofRunner, pauses } from '../sql.ts';
import type { Transition } from '../transition.ts';
import { freeSlots, IS_RAISED, raiseRunners } from './runner-slots.ts';

/**
 * Slotted claim: a runner takes the oldest heads of its own lanes, one per lane, never more than its slots. Exact by the
 * version on the runner's own row. It returns newly locked actions only.
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
  known: boolean;
}

export function createClaimSlots(context: Context): Operation<ClaimSlotsItem, ClaimSlotsAnswer> {
  const text = statement(context.schema);
  return {
    name: 'claim-slots',
    key: (item) => `${item.tenantId}:${item.runnerId}`,
    channels: (item) => [item.channel, ANY_CHANNEL],
    claims: ({ tenantId, runnerId, worker }) => ({ tenantId, runnerId, worker }),
    async run(client, items) {
      const { rows: found } = await client.query({
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
      // a runner that is missing in the answer lost its row or all its lanes to somebody else
      const answers: (ClaimSlotsAnswer | Busy)[] = items.map(() => BUSY);
      const transitions: Transition[] = [];
      for (const row of found as Row[]) {
        const at = row.ord - 1;
        if (!row.action_id) {
          answers[at] = row.known ? { kind: 'claimed', actions: [] } : { kind: 'unknown-runner' };
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

/** So many more lanes are looked at than slots are free, in case somebody else has locked or changed some of them. */
const SPARE_LANES = 10;

const statement = (s: string) => `
  with ${pauses(s)}, ${freeSlots(s, { channel: 'text', worker: 'text', lease_ms: 'int', most: 'int' }, 'i.most')}, h as materialized (
    select * from (
      select f.ord, f.tenant_id, f.runner_id, f.runner_ver, f.worker, f.lease_ms, f.free, l.lane_id, l.ver, n.action_id, n.attempt,
        n.deadline, n.channel, row_number() over (partition by f.ord order by n.priority, n.seq) as nth
      from f
      cross join lateral (select * from ${s}.lanes l where ${ofRunner(s, 'f')} offset 0) l
      left join pz on pz.tenant_id = f.tenant_id
      cross join lateral (${head(s, { channel: 'f.channel', when: 'l.action_id is null', except: 'null' })}) n
      where f.free > 0
    ) x where x.nth <= x.free + ${SPARE_LANES}
  ), ${raiseRunners(s, 'skip locked')}, kk as materialized (${lockLanes(s, 'h', IS_RAISED)}
  ), k as materialized (
    select * from (select kk.*, row_number() over (partition by kk.ord order by kk.nth) as place from kk) x where x.place <= x.free
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = k.action_id, attempt = k.attempt + 1, leased_at = ${NOW},
      ${leaseUntil(`least(${NOW} + ${ms('k.lease_ms')}, k.deadline)`)}, worker = k.worker, lease_runner = k.runner_id,
      moved_from = null, cancel_requested = false, redelivered = 0
    from k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SENT}, k.attempt + 1, k.worker from k
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from k group by 1, 2
      union all select k.tenant_id, k.channel, 'claimed', count(*) from k group by 1, 2
  )
  select k.ord::int, k.nth::int, true as known, k.tenant_id, k.lane_id, k.action_id, k.attempt + 1 as attempt, ${NOW} as leased_at,
    least(${NOW} + ${ms('k.lease_ms')}, k.deadline) as lease_until, k.worker, false as cancel_requested, ${ACTION_COLUMNS}
  from k cross join lateral (select * from ${s}.actions a where a.tenant_id = k.tenant_id and a.action_id = k.action_id limit 1) a
  union all
  select f.ord::int, 0, f.runner_ver is not null, f.tenant_id, null, null, null, null, null, null, null, ${NO_ACTION_COLUMNS}
  from f where f.ord not in (select h.ord from h)
  order by 1, 2`;
