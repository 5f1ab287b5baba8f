import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { type EndedRow, endedTransition, endedWake } from '../end-pending.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { actionOf, endingOf, hasKeyOf, laneOf, lockLanes, NOW, pendingOf, rows } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';

/**
 * Cancel. An action that nobody holds ends at once. A running one keeps its lease and its lane; the worker is told at
 * its next contact, and whatever it reports then ends it.
 */
export interface CancelItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly reason?: string | undefined;
}

export interface CancelAnswer {
  /** cancelled now; requested: it is running; finished: it had ended before; unknown. */
  readonly outcome: 'cancelled' | 'requested' | 'finished' | 'unknown';
  /** The state now; null for an unknown action. */
  readonly state: string | null;
}

interface Row extends EndedRow {
  /** Set if it had ended before; 'busy' if its lane was lost to somebody else. */
  present_state: string | null;
  leased: boolean;
}

export function createCancel(context: Context): Operation<CancelItem, CancelAnswer> {
  const ask = context.effects.carry({
    name: 'muster_cancel',
    text: () => statement(context.schema),
    transitions: `select tenant_id, lane_id, action_id, channel, array[type::int], case when leased then 'claimed' else 'pending' end,
      case when leased then 'claimed' else 'cancelled' end, attempt, why, at from answer where type is not null`,
  });
  return {
    name: 'cancel',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    async run(client, items) {
      const { rows: found, told } = await ask(client, null, [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.actionId),
        items.map((item) => item.reason ?? null),
      ]);
      const answers: (CancelAnswer | Busy)[] = items.map(() => ({ outcome: 'unknown', state: null }));
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of found as Row[]) {
        const at = row.ord - 1;
        if (row.present_state === 'busy') answers[at] = BUSY;
        else if (row.present_state) answers[at] = { outcome: 'finished', state: row.present_state };
        else if (row.leased) {
          answers[at] = { outcome: 'requested', state: 'claimed' };
          if (row.type) transitions.push({ ...endedTransition(row, 'claimed'), state: 'claimed' });
        } else {
          answers[at] = { outcome: 'cancelled', state: 'cancelled' };
          transitions.push(endedTransition(row));
          wakes.push(endedWake(row));
        }
      }
      return { answers, transitions, wakes, told };
    },
  };
}

const statement = (s: string) => `
  with x as materialized (
    select i.ord, i.tenant_id, a.lane_id, l.ver, l.runner_id, i.action_id, a.channel, i.reason, z.state as present_state,
      coalesce(l.action_id = i.action_id, false) as leased, l.cancel_requested,
      case when l.action_id = i.action_id then l.attempt else p.attempt end as attempt
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', reason: 'text' })}
    cross join lateral ${actionOf(s, 'i')}
    cross join lateral ${laneOf(s, 'a')}
    left join lateral ${pendingOf(s, 'i')} on true
    left join lateral ${endingOf(s, 'i')} on true
  ), g as materialized (${lockLanes(s, 'x', 'x.present_state is null')}
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, cancel_requested = l.cancel_requested or k.leased
    from (select tenant_id, lane_id, bool_or(leased) as leased from g group by 1, 2) k
    where ${hasKeyOf('l', 'k', 'lane_id')}
  ), d as (
    delete from ${s}.pending p using (select * from g where not g.leased) g
    where ${hasKeyOf('p', 'g', 'action_id')}
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, ended_at)
      select g.tenant_id, g.action_id, 'cancelled', g.attempt, 'CANCELLED', ${NOW} from g where not g.leased
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select g.tenant_id, g.action_id, g.lane_id, ${NOW},
        case when g.leased then ${EVENT_TYPES.CANCEL_REQUESTED} else ${EVENT_TYPES.CANCELLED} end, g.attempt, g.reason
      from g where not (g.leased and g.cancel_requested)
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select g.tenant_id, g.channel, y.state, sum(y.change) from g
      cross join (values ('pending', -1), ('cancelled', 1)) y(state, change)
      where not g.leased group by 1, 2, 3
  )
  ${ANSWER}
  select g.ord::int, g.tenant_id, g.lane_id, g.runner_id, g.action_id, g.attempt, g.channel, g.present_state, g.leased,
    'cancelled' as state, coalesce(g.reason, 'CANCELLED') as why, ${NOW} as at,
    case when not g.leased then ${EVENT_TYPES.CANCELLED} when not g.cancel_requested then ${EVENT_TYPES.CANCEL_REQUESTED} end as type
  from g
  union all
  select x.ord::int, x.tenant_id, x.lane_id, null, x.action_id, null, x.channel, coalesce(x.present_state, 'busy'), false, null, null, null, null
  from x where x.present_state is not null or x.ord not in (select g.ord from g)`;
