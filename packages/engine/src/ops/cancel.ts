import { EVENT_TYPES } from '../action.ts';
import { BUSY, type Busy, type Context, type Operation, type Transition, type Wake } from '../context.ts';
import { type EndedRow, endedTransition, endedWake } from '../end-pending.ts';
import { NOW } from '../sql.ts';

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
  known: boolean;
  present_state: string | null;
  leased: boolean;
}

export function createCancel(context: Context): Operation<CancelItem, CancelAnswer> {
  const text = statement(context.schema);
  return {
    name: 'cancel',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    async run(client, items) {
      const { rows } = await client.query({
        name: 'muster_cancel',
        text,
        values: [
          context.now(),
          items.map((item) => item.tenantId),
          items.map((item) => item.actionId),
          items.map((item) => item.reason ?? null),
        ],
      });
      const answers: (CancelAnswer | Busy)[] = items.map(() => ({ outcome: 'unknown', state: null }));
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of rows as Row[]) {
        const at = row.ord - 1;
        if (row.present_state) answers[at] = { outcome: 'finished', state: row.present_state };
        else if (!row.ended) answers[at] = BUSY;
        else if (row.leased) {
          answers[at] = { outcome: 'requested', state: 'claimed' };
          if (row.type) transitions.push({ ...endedTransition(row), state: 'claimed' });
        } else {
          answers[at] = { outcome: 'cancelled', state: 'cancelled' };
          transitions.push(endedTransition(row));
          wakes.push(endedWake(row));
        }
      }
      return { answers, transitions, wakes };
    },
  };
}

// Several items may be of one lane; its version is read once and raised once for all of them.
const statement = (s: string) => `
  with x as materialized (
    select i.ord, i.tenant_id, a.lane_id, l.ver, l.runner_id, i.action_id, a.channel, i.reason, z.state as present_state,
      coalesce(l.action_id = i.action_id, false) as leased, l.cancel_requested,
      case when l.action_id = i.action_id then l.attempt else p.attempt end as attempt
    from unnest($2::int[], $3::bigint[], $4::text[]) with ordinality as i(tenant_id, action_id, reason, ord)
    join ${s}.actions a on a.tenant_id = i.tenant_id and a.action_id = i.action_id
    join ${s}.lanes l on l.tenant_id = a.tenant_id and l.lane_id = a.lane_id
    left join ${s}.pending p on p.tenant_id = i.tenant_id and p.action_id = i.action_id
    left join ${s}.endings z on z.tenant_id = i.tenant_id and z.action_id = i.action_id
  ), k as materialized (
    select l.tenant_id, l.lane_id from (select distinct x.tenant_id, x.lane_id, x.ver from x where x.present_state is null) x
    join ${s}.lanes l on l.tenant_id = x.tenant_id and l.lane_id = x.lane_id and l.ver = x.ver
    order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), g as materialized (
    select x.* from x join k on k.tenant_id = x.tenant_id and k.lane_id = x.lane_id where x.present_state is null
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1,
      cancel_requested = l.cancel_requested or exists (select 1 from g where g.tenant_id = l.tenant_id and g.lane_id = l.lane_id and g.leased)
    from k where l.tenant_id = k.tenant_id and l.lane_id = k.lane_id
  ), d as (
    delete from ${s}.pending p using g where not g.leased and p.tenant_id = g.tenant_id and p.action_id = g.action_id
  ), z as (
    insert into ${s}.endings (tenant_id, action_id, state, attempt, reason, ended_at)
      select g.tenant_id, g.action_id, 'cancelled', g.attempt, 'CANCELLED', ${NOW} from g where not g.leased
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select g.tenant_id, g.action_id, g.lane_id, ${NOW}, case when g.leased then ${EVENT_TYPES.CANCEL_REQUESTED} else ${EVENT_TYPES.CANCELLED} end,
        g.attempt, g.reason
      from g where not (g.leased and g.cancel_requested) order by g.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select g.tenant_id, g.channel, y.state, sum(y.change) from g
      cross join (values ('pending', -1), ('cancelled', 1)) y(state, change)
      where not g.leased group by 1, 2, 3
  )
  select x.ord::int, x.tenant_id, x.lane_id, x.runner_id, x.action_id, x.attempt, x.channel, x.present_state, x.leased,
    'cancelled' as state, coalesce(x.reason, 'CANCELLED') as why, g.ord is not null as ended, ${NOW} as at,
    case when not x.leased then ${EVENT_TYPES.CANCELLED} when not x.cancel_requested then ${EVENT_TYPES.CANCEL_REQUESTED} end as type
  from x left join g on g.ord = x.ord`;
