import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Context } from '../operation.ts';
import { hasKeyOf, lockWaiting, NOW, raiseLanes } from '../sql.ts';
import { type Answer, createNamedChange, lookAtNamed } from './change-named.ts';

/**
 * An operator's act: an action that waits for its time or its retry no longer waits. It keeps its place in its lane, as
 * one whose time has come does (`duties/make-due.ts`).
 *
 * refused: it is running, has ended, or waits for no time.
 */
export type MakeDueAnswer = Answer<'due' | 'refused'>;

export const createMakeDueNow = (context: Context) =>
  createNamedChange(context, {
    name: 'make-due-now',
    statement: statement(context.schema),
    outcomeOf: (before, isDone, mayBe) => (isDone ? 'due' : before === 'pending' && mayBe ? BUSY : 'refused'),
  });

const statement = (s: string) => `
  with ${lookAtNamed(s, 'p.not_before is not null as may_be')}, k as materialized (
    ${lockWaiting(s, 'x', `x.before = 'pending' and x.may_be`)}
  ), u as (${raiseLanes(s, 'k')}
  ), m as (
    update ${s}.pending p set delayed = false, not_before = null from k where ${hasKeyOf('p', 'k', 'action_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.MADE_DUE}, k.attempt, k.reason from k
  ), y as materialized (
    select x.*, x.ord in (select k.ord from k) as is_done from x
  )
  ${ANSWER}
  select y.ord::int, y.tenant_id, y.lane_id, y.runner_id, y.action_id, y.channel, y.attempt, y.before, y.is_done, y.may_be,
    case when y.is_done then ${EVENT_TYPES.MADE_DUE} end as type, 'pending' as state, null::text as why, ${NOW} as at
  from y`;
