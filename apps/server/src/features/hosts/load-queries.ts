import type { Queryable } from '@muster/engine';

/**
 * What is queued, running and stuck on a page of hosts, read from the engine's views and never stored. Bounded: a lane
 * has at most its depth limit, a host its services; each is found by an index.
 */
export interface HostLoad {
  readonly hostId: string;
  readonly queued: number;
  readonly running: number;
  readonly oldestQueuedAt: Date | null;
}

export interface StuckAction {
  readonly hostId: string;
  readonly actionId: string;
  readonly serviceId: string;
  readonly attempt: number;
  readonly startedAt: Date;
  readonly leaseUntil: Date;
}

export interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

const LAST = 100;
const LAST_PER_SERVICE = 20;
const MOST_STUCK = 100;

export function createLoadQueries(s: string) {
  return {
    async loads(client: Queryable, tenantId: number, hostIds: readonly string[]): Promise<HostLoad[]> {
      const { rows } = await client.query({
        text: `select h.host_id, sum(l.queued)::int as queued, count(l.leased_action)::int as running, min(l.oldest_queued_at) as oldest
          from unnest($2::bigint[]) h(host_id)
          join ${s}.services x on x.tenant_id = $1 and x.host_id = h.host_id
          join ${s}.lane_loads l on l.tenant_id = $1 and l.lane_id = x.lane_id
          group by h.host_id`,
        values: [tenantId, hostIds],
      });
      return rows.map((row) => ({
        hostId: row.host_id,
        queued: row.queued,
        running: row.running,
        oldestQueuedAt: row.oldest,
      }));
    },

    /** Running for longer than that, oldest first. */
    async stuck(
      client: Queryable,
      tenantId: number,
      hostIds: readonly string[],
      now: Date,
      afterSeconds: number,
    ): Promise<StuckAction[]> {
      const { rows } = await client.query({
        text: `select x.host_id, l.action_id, x.service_id, l.attempt, l.leased_at, l.lease_until
          from unnest($2::bigint[]) h(host_id)
          join ${s}.services x on x.tenant_id = $1 and x.host_id = h.host_id
          join ${s}.lane_leases l on l.tenant_id = $1 and l.lane_id = x.lane_id
          where l.leased_at < $4::timestamptz - make_interval(secs => $3)
          order by l.leased_at limit ${MOST_STUCK}`,
        values: [tenantId, hostIds, afterSeconds, now],
      });
      return rows.map((row) => ({
        hostId: row.host_id,
        actionId: row.action_id,
        serviceId: row.service_id,
        attempt: row.attempt,
        startedAt: row.leased_at,
        leaseUntil: row.lease_until,
      }));
    },

    /** From enqueue to hand-out and from hand-out to report, of the host's last actions that ended by a report. */
    async times(
      client: Queryable,
      tenantId: number,
      hostId: string,
    ): Promise<{ actions: number; handOutMs: Times; processingMs: Times } | null> {
      const { rows } = await client.query({
        text: `with last as (
            select a.* from ${s}.services x
            cross join lateral (
              select a.action_id, a.created_at, a.ended_at, a.attempt, a.reason from ${s}.action_states a
              where a.tenant_id = $1 and a.lane_id = x.lane_id and ${s}.sought_by(a.lane_id) order by a.action_id desc limit ${LAST_PER_SERVICE}
            ) a
            where x.tenant_id = $1 and x.host_id = $2 and a.reason in ('SUCCEEDED', 'FAILED')
            order by a.action_id desc limit ${LAST}
          ), sent as (
            select extract(epoch from e.at - l.created_at) * 1000 as hand_out, extract(epoch from l.ended_at - e.at) * 1000 as processing
            from last l join ${s}.action_events e on e.tenant_id = $1 and e.action_id = l.action_id and e.type = 'SENT' and e.attempt = l.attempt
              and e.at >= l.created_at and e.at <= l.ended_at
          )
          select count(*)::int as n, percentile_disc(array[0.5, 0.99, 1]) within group (order by hand_out) as hand_out,
            percentile_disc(array[0.5, 0.99, 1]) within group (order by processing) as processing from sent`,
        values: [tenantId, hostId],
      });
      const [row] = rows;
      if (row.n === 0) return null;
      return { actions: row.n, handOutMs: times(row.hand_out), processingMs: times(row.processing) };
    },
  };
}

function times(values: readonly (number | string)[]): Times {
  const [p50 = 0, p99 = 0, most = 0] = values.map((value) => Math.round(Number(value)));
  return { p50, p99, most };
}
