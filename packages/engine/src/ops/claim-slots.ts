import { type ClaimedAction, claimedAction } from '../claimed-action.ts';
import { ANSWER } from '../effects.ts';
import {
  HANDED_OUT,
  type HandedOutRow,
  handedOut,
  handedOutTransitions,
  handedOutWakes,
  handOut,
  leaseEnd,
  NOTHING_HANDED_OUT,
} from '../hand-out.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { ANY_CHANNEL, head, lockLanes, ofRunner, pauses } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';
import { freeSlots, IS_RAISED, raiseRunners } from './runner-slots.ts';

/**
 * Slotted claim: a runner takes the oldest heads of its own lanes, one per lane, never more than its slots. Exact by
 * the version on the runner's own row. It returns newly locked actions only.
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

interface Row extends HandedOutRow {
  ord: number;
  known: boolean;
}

export function createClaimSlots(context: Context): Operation<ClaimSlotsItem, ClaimSlotsAnswer> {
  const ask = context.effects.carry({
    name: 'muster_claim_slots',
    text: (ends) => statement(context.schema, ends),
    transitions: HANDED_OUT,
    order: '1, 2',
  });
  return {
    name: 'claim-slots',
    key: (item) => `${item.tenantId}:${item.runnerId}`,
    claims: ({ tenantId, runnerId, worker }) => ({ tenantId, runnerId, worker }),
    async run(client, items) {
      const channels = items.map((item) => item.channel);
      const {
        rows: found,
        told,
        factsOf,
      } = await ask(
        client,
        [...channels, ANY_CHANNEL],
        [
          context.now(),
          items.map((item) => item.tenantId),
          items.map((item) => item.runnerId),
          channels,
          items.map((item) => item.worker),
          items.map((item) => item.leaseMs),
          items.map((item) => item.max),
        ],
      );
      // a runner missing in the answer lost its row or all its lanes to another transaction
      const answers: (ClaimSlotsAnswer | Busy)[] = items.map(() => BUSY);
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of found as Row[]) {
        const at = row.ord - 1;
        if (!row.action_id) {
          answers[at] = row.known ? { kind: 'claimed', actions: [] } : { kind: 'unknown-runner' };
          continue;
        }
        const before = answers[at];
        const actions = typeof before === 'object' && before.kind === 'claimed' ? before.actions : [];
        answers[at] = { kind: 'claimed', actions: [...actions, claimedAction(row, factsOf(row.action_id))] };
        transitions.push(...handedOutTransitions(row));
        wakes.push(...handedOutWakes(row));
      }
      return { answers, transitions, wakes, told };
    },
  };
}

/** This many more lanes are read than slots are free, in case other transactions have locked or changed some. */
const SPARE_LANES = 10;

const statement = (s: string, ends: string | null) => `
  with ${pauses(s)}, ${freeSlots(s, { channel: 'text', worker: 'text', lease_ms: 'int', most: 'int' }, 'i.most')}, h as materialized (
    select * from (
      select f.ord, f.tenant_id, f.runner_id, f.runner_ver, f.worker, ${leaseEnd('coalesce(n.lease_ms, f.lease_ms)', 'n.deadline')}, f.free, l.lane_id, l.ver, n.action_id, n.attempt,
        n.channel, row_number() over (partition by f.ord order by n.priority, n.seq) as nth
      from f
      cross join lateral (select * from ${s}.lanes l where ${ofRunner(s, 'f')} offset 0) l
      left join pz on pz.tenant_id = f.tenant_id
      cross join lateral (${head(s, { channel: 'f.channel', when: 'l.action_id is null', except: 'null' })}) n
      where f.free > 0
    ) x where x.nth <= x.free + ${SPARE_LANES}
  ), ${raiseRunners(s, 'skip locked')}, kk as materialized (${lockLanes(s, 'h', IS_RAISED)}
  ), k as materialized (
    select * from (select kk.*, row_number() over (partition by kk.ord order by kk.nth) as place from kk) x where x.place <= x.free
  ), ${handOut(s, { leaseRunner: 'k.runner_id', ends })}
  ${ANSWER}
  ${handedOut(s, 'k.ord::int, k.nth::int, true as known', ends)}
  union all
  select f.ord::int, 0, f.runner_ver is not null, ${NOTHING_HANDED_OUT} from f where f.ord not in (select h.ord from h)`;
