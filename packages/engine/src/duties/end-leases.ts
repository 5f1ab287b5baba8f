import type { Context } from '../context.ts';
import { NO_NEXT, settle } from '../settle.ts';
import { type SettledRow, transitionsOf, wakesOf } from '../settled.ts';
import { firstToLock, NOW } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/**
 * Ends the leases whose time is over. Found by reading the lanes (7 ms per 100,000 measured): an index on the lease would
 * cost every claim its HOT update.
 */
const MOST = 500;

export function createEndLeases(context: Context): Duty {
  const text = statement(context.schema, { when: `l.lease_until <= ${NOW}`, outcome: 'timeout' });
  return {
    name: 'end-leases',
    everyMs: 1_000,
    due: `exists (select 1 from ${context.schema}.lanes l where l.lease_until <= ${NOW})`,
    async runOnce(client, lanes) {
      const { rows } = await client.query({
        name: 'muster_end_leases',
        text,
        values: [context.now(), lanes ?? null],
      });
      const settled = rows as SettledRow[];
      return dutyRun(settled.length, MOST, {
        transitions: settled.flatMap(transitionsOf),
        wakes: settled.flatMap(wakesOf),
      });
    },
  };
}

/** Also used to take back the leases of an old generation. `$2` limits it to some lanes. */
export const statement = (s: string, source: { when: string; outcome: 'timeout' | 'revoked' }) => `
  with h as materialized (
    select row_number() over () as ord, l.tenant_id, l.lane_id, l.ver, l.action_id, l.attempt, '${source.outcome}' as outcome, l.worker,
      null::text as error, null::jsonb as result, null::int as delay_ms, l.cancel_requested, l.runner_id, l.lease_runner, p.channel,
      p.priority, p.seq, p.failures, p.deferrals, p.deadline, a.max_attempts, a.backoff_ms, a.backoff_max_ms, a.head_of_line,
      a.on_lease_end, ${NO_NEXT}
    from (${firstToLock(
      s,
      `select * from ${s}.lanes l where ${source.when} and ($2::bigint[] is null or l.lane_id = any($2)) order by l.tenant_id, l.lane_id`,
      MOST,
    )}) l
    join ${s}.pending p on p.tenant_id = l.tenant_id and p.action_id = l.action_id
    join ${s}.actions a on a.tenant_id = l.tenant_id and a.action_id = l.action_id
  ), ${settle(s)}`;
