import { type Duty, dutyRun, type Engine } from '@muster/engine';
import type { Bus } from '../../bus/bus.ts';
import { ACTION_TRIGGER, PIPELINE } from './channel.ts';
import type { Dispatcher } from './dispatch.ts';

/**
 * Dispatches actions whose trigger came while the lane was leased by another door, paused or blocked: the end of that
 * sends no message. It goes round through the waiting actions, so many a second, however many wait behind a sleeping
 * device. An action that was dispatched once and came back is not looked at here: it waits for its device.
 */
const EVERY_SECOND = 1_000;
const MOST = 500;
/** The trigger of a younger one is still in progress. */
const OLD_MS = 2_000;
/**
 * The trigger of an action this much older than the oldest waiting trigger was already taken. Without this check the
 * duty triggered a bulk of 10,000 again in each second it took, 22,000 times in a minute. A bulk takes this long
 * between its executions and its last trigger.
 */
const TAKEN_MS = 5_000;

export function createDispatchWaiting(
  { now, schema: s }: Pick<Engine, 'now' | 'schema'>,
  bus: Bus,
  dispatcher: Dispatcher,
): Duty {
  const start = { tenantId: 0, executionId: '00000000-0000-0000-0000-000000000000' };
  /** Where it continues; on a distributed database one for each tenant. */
  const places = new Map<number | undefined, typeof start>();
  return {
    name: 'dispatch-waiting',
    everyMs: EVERY_SECOND,
    due: `exists (select 1 from ${s}.executions e where e.dispatched_at is null and e.ended_at is null)`,
    whose: `select distinct e.tenant_id from ${s}.executions e
      where e.dispatched_at is null and e.ended_at is null and e.created_at <= $1::timestamptz`,
    async runOnce(client, { tenantId: whose } = {}) {
      const behind = places.get(whose) ?? start;
      const { rows } = await client.query({
        name: 'muster_pipeline_dispatch_waiting',
        text: `select e.tenant_id, e.execution_id, e.device_id, e.action_id, e.created_at, coalesce(f.hands_out = e.action_id, false) as is_ready
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
      if (last) places.set(whose, { tenantId: last.tenant_id, executionId: last.execution_id });
      else places.delete(whose);
      const ready = rows.filter((row) => row.is_ready);
      let triggered = 0;
      for (const tenantId of new Set(ready.map((row) => row.tenant_id as number))) {
        const since = await bus.waitingSince(client, ACTION_TRIGGER, tenantId);
        const left = ready.filter(
          (row) =>
            row.tenant_id === tenantId &&
            (since === null || row.created_at.getTime() < since.getTime() - TAKEN_MS),
        );
        await dispatcher.trigger(
          client,
          tenantId,
          left.map((row) => ({ device_id: row.device_id, action_id: row.action_id })),
        );
        triggered += left.length;
      }
      return dutyRun(triggered, MOST + 1);
    },
  };
}
