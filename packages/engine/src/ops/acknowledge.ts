import { EVENT_TYPES } from '../action.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { laneOf, lockLanes, NOW, pendingOf, raiseLanes } from '../sql.ts';

/** The worker has received the attempt: one line of history, nothing else changes. */
export interface AcknowledgeItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
}

export function createAcknowledge(context: Context): Operation<AcknowledgeItem, boolean> {
  const s = context.schema;
  const text = `
    with h as materialized (
      select i.ord, l.tenant_id, l.action_id, l.lane_id, l.ver, l.attempt, l.worker,
        (select 1 from ${s}.events e where e.tenant_id = l.tenant_id and e.action_id = l.action_id and e.attempt = l.attempt
          and e.type = ${EVENT_TYPES.ACKED} limit 1) is not null as before
      from unnest((select $2::int[]), (select $3::bigint[]), (select $4::int[])) with ordinality as i(tenant_id, action_id, attempt, ord)
      cross join lateral ${pendingOf(s, 'i')}
      cross join lateral ${laneOf(s, 'p')}
      where l.action_id = i.action_id and l.attempt = i.attempt
    ), k as materialized (${lockLanes(s, 'h', 'not x.before')}
    ), u as (${raiseLanes(s, 'k')} -- an event that was read before this would come before it in the feed
    ), e as (
      insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
        select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.ACKED}, k.attempt, k.worker from k order by k.ord
    )
    select h.ord::int, h.before or h.ord in (select k.ord from k) as done from h`;
  return {
    name: 'acknowledge',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    async run(client, items) {
      const { rows } = await client.query({
        name: 'muster_acknowledge',
        text,
        values: [
          context.now(),
          items.map((item) => item.tenantId),
          items.map((item) => item.actionId),
          items.map((item) => item.attempt),
        ],
      });
      const answers: (boolean | Busy)[] = items.map(() => false);
      for (const row of rows as { ord: number; done: boolean }[])
        answers[row.ord - 1] = row.done ? true : BUSY;
      return { answers, transitions: [], wakes: [] };
    },
  };
}
