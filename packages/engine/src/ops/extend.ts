import { EVENT_TYPES } from '../action.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { ANY_CHANNEL, hasKeyOf, lockLanes, ms, NOW, rows } from '../sql.ts';

/** A worker that is not done yet asks for more time, up to a limit counted from the hand-out, never past the deadline. */
export interface ExtendItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  readonly worker?: string | undefined;
  readonly leaseMs: number;
  /** The longest a lease may last in all. */
  readonly mostMs?: number | undefined;
  readonly channel?: string | undefined;
}

export interface ExtendAnswer {
  /** False: this attempt is not running (any more). */
  readonly extended: boolean;
  readonly leaseUntil: Date | null;
  readonly cancelRequested: boolean;
}

interface Row {
  ord: number;
  lease_until: Date | null;
  cancel_requested: boolean;
}

export function createExtend(context: Context): Operation<ExtendItem, ExtendAnswer> {
  const text = statement(context.schema);
  return {
    name: 'extend',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    async run(client, items) {
      const { rows: found } = await client.query({
        name: 'muster_extend',
        text,
        values: [
          context.now(),
          items.map((item) => item.tenantId),
          items.map((item) => item.actionId),
          items.map((item) => item.attempt),
          items.map((item) => item.leaseMs),
          items.map((item) => item.mostMs ?? null),
          items.map((item) => item.channel ?? null),
        ],
      });
      const answers: (ExtendAnswer | Busy)[] = items.map(() => ({
        extended: false,
        leaseUntil: null,
        cancelRequested: false,
      }));
      for (const row of found as Row[]) {
        answers[row.ord - 1] = row.lease_until
          ? { extended: true, leaseUntil: row.lease_until, cancelRequested: row.cancel_requested }
          : BUSY;
      }
      return { answers, transitions: [], wakes: [] };
    },
  };
}

// The version is raised: a lease end that was decided before this must not win over it.
const statement = (s: string) => `
  with h as materialized (
    select i.ord, i.tenant_id, l.lane_id, l.ver, i.action_id, i.attempt, l.worker, l.cancel_requested, greatest(l.lease_until,
      least(${NOW} + ${ms('coalesce(p.lease_ms, i.lease_ms)')}, l.leased_at + ${ms('i.most_ms')}, p.deadline)) as lease_until
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', attempt: 'int', lease_ms: 'int', most_ms: 'int', channel: 'text' })}
    cross join lateral (select * from ${s}.pending p where p.tenant_id = i.tenant_id and p.action_id = i.action_id limit 1) p
    cross join lateral (select * from ${s}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
    where l.action_id = i.action_id and l.attempt = i.attempt and (i.channel is null or p.channel in (i.channel, '${ANY_CHANNEL}'))
  ), k as materialized (${lockLanes(s, 'h')}
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, lease_until = k.lease_until
    from k where ${hasKeyOf('l', 'k', 'lane_id')}
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select k.tenant_id, k.action_id, k.lane_id, ${NOW}, ${EVENT_TYPES.EXTENDED}, k.attempt, k.worker from k
  )
  select h.ord::int, case when h.ord in (select k.ord from k) then h.lease_until end as lease_until, h.cancel_requested from h`;
