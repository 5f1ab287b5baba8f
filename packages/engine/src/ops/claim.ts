import { EVENT_TYPES } from '../action.ts';
import {
  ACTION_COLUMNS,
  type ClaimedAction,
  type ClaimedRow,
  claimedAction,
  NO_ACTION_COLUMNS,
  sent,
} from '../claimed-action.ts';
import { BUSY, type Context, type Operation } from '../operation.ts';
import {
  ANY_CHANNEL,
  hasKeyOf,
  head,
  leaseUntil,
  lockLanes,
  ms,
  NOW,
  passesOver,
  pauses,
  rows,
} from '../sql.ts';
import type { Transition } from '../transition.ts';
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
  known: boolean;
  right_generation: boolean;
  held_by: string | null;
}

export function createClaim(context: Context): Operation<ClaimItem, ClaimAnswer> {
  const redeliver = createRedeliver(context);
  const text = statement(context.schema);
  return {
    name: 'claim',
    key: (item) => `${item.tenantId}:${item.laneId}`,
    channels: (item) => [item.channel, ANY_CHANNEL],
    claims: ({ tenantId, laneId, worker }) => ({ tenantId, laneId, worker }),
    async run(client, items) {
      const { rows: found } = await client.query({
        name: 'muster_claim',
        text,
        values: values(context, items),
      });
      // what is missing in the answer lost its lane to somebody else between look and lock
      const answers: (ClaimAnswer | typeof BUSY)[] = items.map(() => BUSY);
      const transitions: Transition[] = [];
      const toRedeliver: number[] = [];
      for (const row of found as Row[]) {
        const at = row.ord - 1;
        if (row.action_id) {
          answers[at] = { kind: 'claimed', action: claimedAction(row) };
          transitions.push(sent(row));
        } else if (!row.known) {
          answers[at] = { kind: 'unknown-lane' };
        } else if (!row.right_generation) {
          answers[at] = { kind: 'wrong-generation' };
        } else if (row.held_by !== null) {
          answers[at] = { kind: 'held' };
          if (row.held_by === items[at]?.worker) toRedeliver.push(at);
        } else {
          answers[at] = { kind: 'empty' };
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
  with ${pauses(s)}, h as materialized (
    select i.ord, i.tenant_id, i.lane_id, i.worker, i.lease_ms, l.ver, l.worker as held_by,
      coalesce(i.generation = l.generation, l.generation is not null) as right_generation, l.ver is not null as known,
      n.action_id, n.attempt, n.deadline, n.channel
    from ${rows(2, { tenant_id: 'int', lane_id: 'bigint', channel: 'text', worker: 'text', lease_ms: 'int', generation: 'int', except_action: 'bigint' })}
    left join lateral (
      select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and not l.closing limit 1
    ) l on true
    left join pz on pz.tenant_id = i.tenant_id
    left join lateral (${head(s, {
      channel: 'i.channel',
      when: 'l.action_id is null and (i.generation is null or i.generation = l.generation)',
      except: 'i.except_action',
      passes: passesOver(s, 'i.except_action'),
    })}) n on true
  ), k as materialized (${lockLanes(s, 'h', 'x.action_id is not null')}
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, action_id = k.action_id, attempt = k.attempt + 1, leased_at = ${NOW},
      ${leaseUntil(`least(${NOW} + ${ms('k.lease_ms')}, k.deadline)`)}, worker = k.worker, lease_runner = null,
      cancel_requested = false, redelivered = 0
    from k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.SENT}, k.attempt + 1, k.worker from k
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select k.tenant_id, k.channel, 'pending', -count(*) from k group by 1, 2
      union all select k.tenant_id, k.channel, 'claimed', count(*) from k group by 1, 2
  )
  select k.ord::int, k.tenant_id, k.lane_id, true as known, true as right_generation, null::text as held_by,
    k.action_id, k.attempt + 1 as attempt, ${NOW} as leased_at, least(${NOW} + ${ms('k.lease_ms')}, k.deadline) as lease_until,
    k.worker, false as cancel_requested, ${ACTION_COLUMNS}
  from k cross join lateral (select * from ${s}.actions a where a.tenant_id = k.tenant_id and a.action_id = k.action_id limit 1) a
  union all
  select h.ord::int, h.tenant_id, h.lane_id, h.known, h.right_generation, h.held_by, null, null, null, null, null, null,
    ${NO_ACTION_COLUMNS}
  from h where h.action_id is null`;
