import { EVENT_TYPES } from '../action.ts';
import { BUSY, type Busy, type Context, type Operation } from '../context.ts';
import { ms, NOW } from '../sql.ts';

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
  held: boolean;
  lease_until: Date | null;
  cancel_requested: boolean;
}

export function createExtend(context: Context): Operation<ExtendItem, ExtendAnswer> {
  const text = statement(context.schema);
  return {
    name: 'extend',
    key: (item) => `${item.tenantId}:${item.actionId}`,
    async run(client, items) {
      const { rows } = await client.query({
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
      for (const row of rows as Row[]) {
        if (!row.held) continue;
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
    select i.*, l.lane_id, l.ver, p.deadline, (l.action_id = i.action_id and l.attempt = i.attempt) as held
    from unnest($2::int[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::text[])
      with ordinality as i(tenant_id, action_id, attempt, lease_ms, most_ms, channel, ord)
    join ${s}.pending p on p.tenant_id = i.tenant_id and p.action_id = i.action_id and (i.channel is null or p.channel = i.channel)
    join ${s}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id
  ), k as materialized (
    select h.ord from h join ${s}.lanes l on l.tenant_id = h.tenant_id and l.lane_id = h.lane_id and l.ver = h.ver
    where h.held order by l.tenant_id, l.lane_id
    for update of l skip locked
  ), u as (
    update ${s}.lanes l set ver = l.ver + 1, lease_until = greatest(l.lease_until,
      least(${NOW} + ${ms('h.lease_ms')}, l.leased_at + ${ms('h.most_ms')}, h.deadline))
    from h join k on k.ord = h.ord where l.tenant_id = h.tenant_id and l.lane_id = h.lane_id
    returning h.ord, l.tenant_id, l.lane_id, l.action_id, l.attempt, l.worker, l.lease_until, l.cancel_requested
  ), e as (
    insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, worker)
      select u.tenant_id, u.action_id, u.lane_id, ${NOW}, ${EVENT_TYPES.EXTENDED}, u.attempt, u.worker from u order by u.ord
  )
  select h.ord::int, h.held, u.lease_until, u.cancel_requested from h left join u on u.ord = h.ord`;
