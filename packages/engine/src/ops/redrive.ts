import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { actionOf, endingOf, hasKeyOf, laneOf, NOW, rows } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';

/**
 * A dead letter goes back to the end of its class in its lane, with no failures counted and without its clocks: an
 * operator wants it to run now. The ending is deleted, so a late success and a redrive cannot both have it.
 */
export interface RedriveItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly reason?: string | undefined;
}

export interface RedriveAnswer {
  /** refused: only failed actions are redriven. */
  readonly outcome: 'redriven' | 'refused' | 'unknown';
  readonly state: string | null;
}

interface Row {
  ord: number;
  tenant_id: number;
  action_id: string;
  lane_id: string;
  channel: string;
  runner_id: string | null;
  attempt: number;
  redriven: boolean;
  state: string;
  at: Date;
}

export function createRedrive(context: Context): Operation<RedriveItem, RedriveAnswer> {
  const ask = context.effects.carry({
    name: 'muster_redrive',
    text: () => statement(context.schema),
    transitions: `select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.REDRIVEN}], 'failed', 'pending', attempt, null::text, at
      from answer where redriven`,
  });
  return {
    name: 'redrive',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    async run(client, items) {
      const { rows, told } = await ask(client, null, [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.actionId),
        items.map((item) => item.reason ?? null),
      ]);
      const answers: (RedriveAnswer | Busy)[] = items.map(() => ({ outcome: 'unknown', state: null }));
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of rows as Row[]) {
        if (!row.redriven) {
          // still failed when it was looked at: somebody else was faster, look again
          answers[row.ord - 1] = row.state === 'failed' ? BUSY : { outcome: 'refused', state: row.state };
          continue;
        }
        answers[row.ord - 1] = { outcome: 'redriven', state: 'pending' };
        transitions.push({
          tenantId: row.tenant_id,
          laneId: row.lane_id,
          actionId: row.action_id,
          channel: row.channel,
          events: ['REDRIVEN'],
          before: 'failed',
          state: 'pending',
          attempt: row.attempt,
          reason: null,
          at: row.at,
        });
        wakes.push({ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id });
      }
      return { answers, transitions, wakes, told };
    },
  };
}

const statement = (s: string) => `
  with i as materialized (
    select i.ord, i.tenant_id, i.action_id, i.reason, a.lane_id, a.channel, a.priority, a.supersede_key, l.runner_id,
      coalesce(z.state, case when l.action_id = i.action_id then 'claimed' else 'pending' end) as state
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', reason: 'text' })}
    cross join lateral ${actionOf(s, 'i')}
    cross join lateral ${laneOf(s, 'a')}
    left join lateral ${endingOf(s, 'i')} on true
  ), d as (
    delete from ${s}.endings z using i
    where ${hasKeyOf('z', 'i', 'action_id')} and (z.state = 'failed') is true -- not by the index on states
    returning i.*, z.attempt
  ), p as (
    insert into ${s}.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq, attempt, supersede_key)
      select x.tenant_id, x.action_id, x.lane_id, ${s}.generation_to_write(x.tenant_id, x.lane_id), x.channel, x.priority, nextval('${s}.action_seq'), x.attempt, x.supersede_key
      from (select * from d order by d.ord) x
  ), st as (
    -- as in enqueue_actions: the generation that was read may be an old one
    insert into ${s}.stale_lanes (tenant_id, lane_id) select distinct d.tenant_id, d.lane_id from d
      where current_setting('transaction_isolation') in ('repeatable read', 'serializable')
      on conflict do nothing
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select d.tenant_id, d.action_id, d.lane_id, ${NOW}, ${EVENT_TYPES.REDRIVEN}, d.attempt, d.reason from d order by d.ord
  ), c as (
    insert into ${s}.count_changes (tenant_id, channel, state, change)
      select d.tenant_id, d.channel, y.state, sum(y.change) from d
      cross join (values ('failed', -1), ('pending', 1)) y(state, change) group by 1, 2, 3
  )
  ${ANSWER}
  select d.ord::int, d.tenant_id, d.action_id, d.lane_id, d.channel, d.runner_id, d.state, d.attempt, true as redriven, ${NOW} as at from d
  union all
  select i.ord::int, i.tenant_id, i.action_id, i.lane_id, i.channel, i.runner_id, i.state, null, false, null
  from i where i.ord not in (select d.ord from d)`;
