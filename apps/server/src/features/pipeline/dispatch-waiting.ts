import { type Duty, dutyRun, type Engine } from '@muster/engine';
import { PIPELINE } from './channel.ts';
import type { Dispatcher } from './dispatch.ts';

/**
 * What awaits its first dispatch and could have it: the trigger came while the lane was leased by another door, paused or blocked,
 * and the end of that is nobody's message. It goes round through those that wait, so many a second, whatever waits behind a device
 * that sleeps. What has been dispatched once and came back is not looked at here: it waits for its device.
 */
const EVERY_SECOND = 1_000;
const MOST = 500;
/** Younger ones have their trigger under way. */
const OLD_MS = 2_000;

export function createDispatchWaiting(
  { now, schema: s }: Pick<Engine, 'now' | 'schema'>,
  dispatcher: Dispatcher,
): Duty {
  let behind = { tenantId: 0, executionId: '00000000-0000-0000-0000-000000000000' };
  const start = behind;
  return {
    name: 'dispatch-waiting',
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${s}.executions e where e.dispatched_at is null and e.ended_at is null)`,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_pipeline_dispatch_waiting',
        text: `select e.tenant_id, e.execution_id, e.device_id, e.action_id, coalesce(f.hands_out = e.action_id, false) as is_ready
          from (
            select * from ${s}.executions e where e.dispatched_at is null and e.ended_at is null
              and (e.tenant_id, e.execution_id) > ($2::int, $3::uuid) and e.created_at <= $1::timestamptz - $4 * interval '1 millisecond'
            order by e.tenant_id, e.execution_id limit ${MOST}
          ) e
          cross join lateral (
            select d.lane_id from ${s}.devices d where d.tenant_id = e.tenant_id and d.device_id = e.device_id limit 1
          ) d
          left join lateral ${s}.lane_front($1, e.tenant_id, d.lane_id, '${PIPELINE}') f on true
          order by e.tenant_id, e.execution_id`,
        values: [now(), behind.tenantId, behind.executionId, OLD_MS],
      });
      const last = rows.length === MOST ? rows.at(-1) : undefined;
      behind = last ? { tenantId: last.tenant_id, executionId: last.execution_id } : start;
      const ready = rows.filter((row) => row.is_ready);
      for (const tenantId of new Set(ready.map((row) => row.tenant_id as number)))
        await dispatcher.trigger(
          client,
          tenantId,
          ready
            .filter((row) => row.tenant_id === tenantId)
            .map((row) => ({ device_id: row.device_id, action_id: row.action_id })),
        );
      return dutyRun(ready.length, MOST + 1);
    },
  };
}
