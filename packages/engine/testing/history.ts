import { type ActionState, type EventType, eventName, type Queryable } from '../src/index.ts';
import { feedRows } from './feed-reader.ts';

/** Everything the tables say about one tenant, read in one snapshot, for `check-history.ts`. */
export interface History {
  readonly actions: ReadonlyMap<string, HistoryAction>;
  /** In the order of their numbers. */
  readonly events: readonly HistoryEvent[];
  /** The event numbers of actions, in feed order. */
  readonly feed: readonly { readonly id: string; readonly actionId: string }[];
  readonly lanes: readonly HistoryLane[];
  readonly runners: readonly {
    readonly id: string;
    readonly slots: number | null;
    readonly running: number;
  }[];
  /** The counters: `channel state` to number. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface HistoryAction {
  readonly id: string;
  /** The lane it was enqueued in. */
  readonly laneId: string;
  /** The lane it is in while unfinished. */
  readonly presentLane: string | null;
  readonly channel: string;
  readonly urgent: boolean;
  readonly tagged: boolean;
  readonly delayed: boolean;
  readonly limited: boolean;
  readonly deadline: Date | null;
  readonly onLeaseEnd: 'retry' | 'fail' | 'succeed';
  readonly generation: number | null;
  readonly pending: boolean;
  readonly leasedAttempt: number | null;
  readonly ended: ActionState | null;
  readonly reason: string | null;
}

export interface HistoryEvent {
  readonly id: bigint;
  readonly actionId: string;
  readonly laneId: string;
  readonly type: EventType;
  readonly attempt: number;
  readonly at: Date;
  readonly worker: string | null;
  readonly reason: string | null;
}

export interface HistoryLane {
  readonly id: string;
  readonly generation: number;
  readonly isPool: boolean;
  readonly actionId: string | null;
}

export async function readHistory(client: Queryable, tenantId: number, schema = 'muster'): Promise<History> {
  const s = schema;
  const { rows } = await client.query({
    text: `select
      (select json_agg(x) from (
        select a.action_id::text as id, a.lane_id::text as "laneId", p.lane_id::text as "presentLane", a.channel, a.priority = 0 as urgent, a.tags is not null as tagged,
          a.not_before is not null as delayed, a.deliver_by is not null or a.deadline is not null as limited, a.deadline,
          a.on_lease_end as "onLeaseEnd", p.generation, p.action_id is not null as pending,
          case when l.action_id = a.action_id then l.attempt end as "leasedAttempt", z.state as ended, z.reason
        from ${s}.actions a
        left join ${s}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id
        left join ${s}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
        left join lateral (select * from ${s}.lanes l where l.tenant_id = a.tenant_id and l.action_id = a.action_id limit 1) l on true
        where a.tenant_id = $1 order by a.action_id) x) as actions,
      (select json_agg(x) from (
        select e.event_id::text as id, e.action_id::text as "actionId", e.lane_id::text as "laneId", e.type, e.attempt, e.at, e.worker, e.reason
        from ${s}.history e where e.tenant_id = $1 order by e.event_id) x) as events,
      (select json_agg(x) from (
        select f.event_id::text as id, f.action_id::text as "actionId" from ${feedRows(s)} f
        where f.tenant_id = $1 and f.action_id <> 0 order by f.xid, f.event_id) x) as feed,
      (select json_agg(x) from (
        select l.lane_id::text as id, l.generation, l.pool_id is not distinct from l.lane_id as "isPool", l.action_id::text as "actionId" from ${s}.lanes l where l.tenant_id = $1) x) as lanes,
      (select json_agg(x) from (
        select r.runner_id::text as id, r.slots,
          (select count(*) from ${s}.lanes l where l.tenant_id = r.tenant_id and l.lease_runner = r.runner_id) as running
        from ${s}.runners r where r.tenant_id = $1) x) as runners,
      (select json_agg(x) from (
        select c.channel || ' ' || c.state as word, sum(c.change) as count from ${s}.count_changes c
        where c.tenant_id = $1 group by 1 having sum(c.change) <> 0) x) as counts`,
    values: [tenantId],
  });
  const { actions, events, feed, lanes, runners, counts } = rows[0];
  const list = (found: unknown) => (found ?? []) as never[];
  return {
    actions: new Map(
      list(actions).map((action: Record<string, unknown>) => [
        action.id as string,
        { ...action, deadline: action.deadline ? new Date(action.deadline as string) : null } as never,
      ]),
    ),
    events: list(events).map((event: { id: string; type: number; at: string }) => ({
      ...(event as object as HistoryEvent),
      id: BigInt(event.id),
      type: eventName(event.type),
      at: new Date(event.at),
    })),
    feed: list(feed),
    lanes: list(lanes),
    runners: list(runners),
    counts: new Map(list(counts).map((row: { word: string; count: number }) => [row.word, row.count])),
  };
}
