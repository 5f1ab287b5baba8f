import type { Context } from '../operation.ts';
import { heardOn, isUrgent, laneOf, NOW } from '../sql.ts';
import type { Wake } from '../transition.ts';
import { type Duty, type DutyRun, dutyRun, type OnLanes } from './duty.ts';

/**
 * An urgent action on one channel goes before normal actions on others as long as its worker counts as recently seen.
 * No event marks the end of that time, so this looks for it and wakes the waiters. It cycles through urgent actions,
 * some lanes a second: few are visited every second, 100,000 every 50 s. A lane whose time ended since the previous
 * round is woken once; a leader's first round wakes all whose time is over.
 */
const MOST = 2_000;
const START = { tenantId: 0, laneId: '0', channel: '' };

interface Round {
  at: typeof START;
  began: Date | null;
  since: Date | null;
}

export function createEndPrecedence(context: Context): Duty {
  const s = context.schema;
  const text = statement(s);
  /** On a distributed database one for each tenant. */
  const rounds = new Map<number | undefined, Round>();

  return {
    name: 'end-precedence',
    everyMs: 1_000,
    byIndex: true,
    whose: `select distinct p.tenant_id from ${s}.pending p where ${isUrgent(s, 'p')} and ${NOW} is not null`,
    due: `(select p.lane_id from ${s}.pending p where ${isUrgent(s, 'p')} order by p.tenant_id, p.lane_id limit 1) is not null`,
    async runOnce(client, { tenantId }: OnLanes = {}): Promise<DutyRun> {
      const now = context.now();
      const round = rounds.get(tenantId) ?? { at: START, began: null, since: null };
      rounds.set(tenantId, round);
      const { at } = round;
      if (at === START) round.began = now;
      const { rows } = await client.query({
        name: 'muster_end_precedence',
        text,
        values: [now, at.tenantId, at.laneId, at.channel, round.since],
      });
      const wakes = rows
        .filter((row) => row.is_over)
        .map((row): Wake => ({ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id }));
      const last = rows.find((row) => row.is_last);
      if (last) round.at = { tenantId: last.tenant_id, laneId: last.lane_id, channel: last.channel };
      else {
        round.at = START;
        round.since = round.began;
      }
      return { ...dutyRun(wakes.length, MOST, { wakes }), more: false };
    },
  };
}

/** A leased lane wakes when its lease ends. The last row says where the next round continues, if there is more. */
const statement = (s: string) => `
  with x as materialized (
    select p.tenant_id, p.lane_id, p.channel from ${s}.pending p
    where ${isUrgent(s, 'p')} and (p.tenant_id, p.lane_id, p.channel) > ($2::int, $3::bigint, $4::text)
    order by p.tenant_id, p.lane_id, p.channel limit ${MOST}
  )
  select x.tenant_id, x.lane_id, l.runner_id, x.channel, true as is_over, false as is_last
  from (select distinct x.tenant_id, x.lane_id, x.channel from x) x
  cross join lateral ${heardOn(s, 'x')}
  cross join lateral ${laneOf(s, 'x')}
  where h.channel = x.channel and h.until <= ${NOW} and ($5::timestamptz is null or h.until > $5) and l.action_id is null
  union all
  select x.tenant_id, x.lane_id, null, x.channel, false, true from (select * from x offset ${MOST - 1}) x`;
