import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Context } from '../operation.ts';
import { hasKeyOf, lockWaiting, NOW } from '../sql.ts';
import { type Answer, createNamedChange, lookAtNamed } from './change-named.ts';

/**
 * Cancel. An action that is not held ends at once. A running one keeps its lease and its lane; the worker learns of it
 * at its next contact, and its report then ends the action.
 *
 * cancelled: ended now; requested: it is running; finished: it had ended before; unknown.
 */
export type CancelAnswer = Answer<'cancelled' | 'requested' | 'finished'>;

export const createCancel = (context: Context) =>
  createNamedChange(context, {
    name: 'cancel',
    statement: statement(context.schema),
    outcomeOf(before, isDone) {
      if (before !== 'pending' && before !== 'claimed') return 'finished';
      if (!isDone) return BUSY;
      return before === 'claimed' ? 'requested' : 'cancelled';
    },
  });

const statement = (s: string) => `
  with ${lookAtNamed(s, 'coalesce(l.action_id = i.action_id, false) as leased, l.cancel_requested')}, g as materialized (
    ${lockWaiting(s, 'x', `x.before in ('pending', 'claimed')`)}
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
  ), y as materialized (
    select x.*, x.ord in (select g.ord from g) as is_done from x
  )
  ${ANSWER}
  select y.ord::int, y.tenant_id, y.lane_id, y.runner_id, case when y.is_done and y.leased then y.lease_runner end as stops, y.action_id, y.channel, y.attempt, y.before, y.is_done,
    case when not y.is_done then null when not y.leased then ${EVENT_TYPES.CANCELLED}
      when not y.cancel_requested then ${EVENT_TYPES.CANCEL_REQUESTED} end as type,
    case when y.leased then 'claimed' else 'cancelled' end as state, coalesce(y.reason, 'CANCELLED') as why, ${NOW} as at
  from y`;
