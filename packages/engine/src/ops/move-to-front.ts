import { EVENT_TYPES } from '../action.ts';
import { ANSWER } from '../effects.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import {
  actionOf,
  endingOf,
  hasKeyOf,
  laneOf,
  lockLanes,
  NOW,
  ofLane,
  pendingOf,
  raiseLanes,
  rows,
} from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';

/** An operator's act: the action goes before all others of its class in its lane. */
export interface MoveItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly reason?: string | undefined;
}

export interface MoveAnswer {
  /** refused: it is running or finished. */
  readonly outcome: 'moved' | 'refused' | 'unknown';
  readonly state: string | null;
}

interface Row {
  ord: number;
  tenant_id: number;
  lane_id: string;
  runner_id: string | null;
  action_id: string;
  channel: string;
  attempt: number;
  state: string;
  moved: boolean;
  at: Date;
}

export function createMoveToFront(context: Context): Operation<MoveItem, MoveAnswer> {
  const ask = context.effects.carry({
    name: 'muster_move_to_front',
    text: () => statement(context.schema),
    transitions: `select tenant_id, lane_id, action_id, channel, array[${EVENT_TYPES.MOVED}], 'pending', 'pending', attempt, null::text, at
      from answer where moved`,
  });
  return {
    name: 'move-to-front',
    // one at a time: two moves in one lane would read the same front
    key: (item) => `${item.tenantId}`,
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    async run(client, items) {
      const { rows, told } = await ask(client, null, [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.actionId),
        items.map((item) => item.reason ?? null),
      ]);
      const answers: (MoveAnswer | Busy)[] = items.map(() => ({ outcome: 'unknown', state: null }));
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of rows as Row[]) {
        if (row.moved) {
          answers[row.ord - 1] = { outcome: 'moved', state: 'pending' };
          const { tenant_id: tenantId, lane_id: laneId, action_id: actionId, channel, attempt, at } = row;
          transitions.push({
            tenantId,
            laneId,
            actionId,
            channel,
            events: ['MOVED'],
            before: 'pending',
            state: 'pending',
            attempt,
            reason: null,
            at,
          });
          wakes.push({ tenantId, laneId, runnerId: row.runner_id });
        } else
          answers[row.ord - 1] = row.state === 'pending' ? BUSY : { outcome: 'refused', state: row.state };
      }
      return { answers, transitions, wakes, told };
    },
  };
}

const statement = (s: string) => `
  with x as materialized (
    select i.ord, i.tenant_id, a.lane_id, l.ver, l.runner_id, i.action_id, a.channel, i.reason, p.attempt,
      coalesce(z.state, case when l.action_id = i.action_id then 'claimed' else 'pending' end) as state,
      -- over all channels: with the front of its own alone it could come level with an action of another
      (select min(q.seq) from ${s}.pending q where ${ofLane(s, 'q', 'p')} and q.priority = p.priority) as front
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', reason: 'text' })}
    cross join lateral ${actionOf(s, 'i')}
    cross join lateral ${laneOf(s, 'a')}
    left join lateral ${pendingOf(s, 'i')} on true
    left join lateral ${endingOf(s, 'i')} on true
  ), k as materialized (${lockLanes(s, 'x', `x.state = 'pending'`)}
  ), u as (${raiseLanes(s, 'k')}
  ), m as (
    update ${s}.pending p set seq = k.front - 1 from k where ${hasKeyOf('p', 'k', 'action_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.MOVED}, k.attempt, k.reason from k
  )
  ${ANSWER}
  select x.ord::int, x.tenant_id, x.lane_id, x.runner_id, x.action_id, x.channel, x.attempt, x.state,
    x.ord in (select k.ord from k) as moved, ${NOW} as at
  from x`;
