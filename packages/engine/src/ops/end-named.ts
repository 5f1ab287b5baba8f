import { EVENT_TYPES } from '../action.ts';
import { type EndedRow, endedPending, endedTransition, endedWake, endPending } from '../end-pending.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { laneOf, pendingOf, rows } from '../sql.ts';

/** Ends actions whose caller has stopped waiting for them. One that is running, or has ended, is left as it is. */
export interface EndItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly reason: string;
}

const EVENT = {
  cancelled: EVENT_TYPES.CANCELLED,
  expired: EVENT_TYPES.EXPIRED,
  failed: EVENT_TYPES.FAILED_FINAL,
  succeeded: EVENT_TYPES.SUCCEEDED,
};
const VERB = { cancelled: 'cancel', expired: 'expire', failed: 'fail', succeeded: 'succeed' };

export function createEndNamed(
  context: Context,
  state: keyof typeof EVENT,
): Operation<EndItem, 'ended' | 'left'> {
  const s = context.schema;
  const text = `
    with i as materialized (
      select i.ord, p.tenant_id, p.lane_id, l.ver, l.runner_id, p.action_id, p.attempt, p.channel, '${state}' as state,
        ${EVENT[state]} as type, i.reason as why, i.reason as note, null::text as worker, null::jsonb as result
      from ${rows(2, { tenant_id: 'int', action_id: 'bigint', reason: 'text' })}
      cross join lateral ${pendingOf(s, 'i')}
      cross join lateral ${laneOf(s, 'p')}
      where l.action_id is distinct from p.action_id
    ), x as materialized (select * from i), ${endPending(s)}
    union all select i.ord::int, i.tenant_id, i.lane_id, null, i.action_id, i.attempt, i.channel, null, null, null, null
    from i where i.ord not in (select k.ord from k)`;
  const ask = context.effects.carry({
    name: `muster_${VERB[state]}_named`,
    text: () => text,
    transitions: endedPending(),
  });
  return {
    name: `${VERB[state]}-named`,
    key: (item) => `${item.tenantId}:${item.actionId}`,
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    async run(client, items) {
      const { rows: found, told } = await ask(client, null, [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.actionId),
        items.map((item) => item.reason),
      ]);
      const answers: ('ended' | 'left' | Busy)[] = items.map(() => 'left');
      const ended: EndedRow[] = [];
      for (const row of found as (EndedRow & { state: string | null })[]) {
        answers[row.ord - 1] = row.state === null ? BUSY : 'ended';
        if (row.state !== null) ended.push(row);
      }
      return {
        answers,
        transitions: ended.map((row) => endedTransition(row)),
        wakes: ended.map(endedWake),
        told,
      };
    },
  };
}
