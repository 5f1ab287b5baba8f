import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Context } from '../operation.ts';
import { hasKeyOf, lockWaiting, NOW, ofLane, raiseLanes, soughtBy } from '../sql.ts';
import { type Answer, createNamedChange, lookAtNamed } from './change-named.ts';

/** An operator's act: the action goes before all others of its class in its lane. Refused: it is running or finished. */
export type MoveAnswer = Answer<'moved' | 'refused'>;

export const createMoveToFront = (context: Context) =>
  createNamedChange(context, {
    name: 'move-to-front',
    statement: statement(context.schema),
    // one at a time: two moves in one lane would read the same front
    key: (item) => `${item.tenantId}`,
    outcomeOf: (before, isDone) => (isDone ? 'moved' : before === 'pending' ? BUSY : 'refused'),
  });

// Over all channels: from the front of its own channel alone it could get the same place as an action of another.
// What a pool's workers hold counts too, because it may come back to its old place.
const front = (s: string) =>
  `least((select min(q.seq) from ${s}.pending q where ${ofLane(s, 'q', 'p')} and q.priority = p.priority), (
      select min(q.seq) from ${s}.lanes w
      cross join lateral (select * from ${s}.pending q where q.tenant_id = w.tenant_id and q.action_id = w.action_id limit 1) q
      where w.tenant_id = p.tenant_id and w.pool_id = p.lane_id and ${soughtBy(s, 'w.pool_id')} and q.priority = p.priority)) as front`;

const statement = (s: string) => `
  with ${lookAtNamed(s, front(s))}, k as materialized (${lockWaiting(s, 'x', `x.before = 'pending'`)}
  ), u as (${raiseLanes(s, 'k')}
  ), m as (
    update ${s}.pending p set seq = k.front - 1 from k where ${hasKeyOf('p', 'k', 'action_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.MOVED}, k.attempt, k.reason from k
  ), y as materialized (
    select x.*, x.ord in (select k.ord from k) as is_done from x
  )
  ${ANSWER}
  select y.ord::int, y.tenant_id, y.lane_id, y.runner_id, y.action_id, y.channel, y.attempt, y.before, y.is_done,
    case when y.is_done then ${EVENT_TYPES.MOVED} end as type, 'pending' as state, null::text as why, ${NOW} as at
  from y`;
