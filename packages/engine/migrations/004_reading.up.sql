-- breaking: no
-- What others may join with: applications that share the database, and doors that derive what they show. The tables
-- behind these views may change; the views stay. Who looks for a lane's actions says `and {schema}.sought_by(lane_id)` too, and its
-- index is used.

-- Every action that has not ended, claimed or not; `seq` is its place among those of its priority. Whoever does not ask
-- whether it is claimed does not pay for it: the planner drops the join.
create view {schema}.unfinished_actions as
  select p.tenant_id, p.action_id, p.lane_id, p.channel, p.seq, coalesce(l.action_id = p.action_id, false) as is_claimed
  from {schema}.pending p
  left join {schema}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id;

-- The state of every action that is kept, how it ended and when the attempt of that began, and the lease of one that is claimed.
create view {schema}.action_states as
  select a.tenant_id, a.action_id, a.lane_id, a.channel, a.kind, a.payload, a.created_at, a.created_by,
    coalesce(z.state, case when l.action_id = a.action_id then 'claimed' else 'pending' end) as state,
    coalesce(z.attempt, case when l.action_id = a.action_id then l.attempt else p.attempt end, 0) as attempt,
    z.reason, z.ended_at, z.sent_at, z.error, z.result,
    case when l.action_id = a.action_id then l.leased_at end as leased_at,
    case when l.action_id = a.action_id then l.lease_until end as lease_until
  from {schema}.actions a
  left join {schema}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
  left join {schema}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id
  left join {schema}.lanes l on l.tenant_id = p.tenant_id and l.lane_id = p.lane_id;

-- Every event of every action that is kept, and every note (of action 0), wherever it is written: in `events`, in the ending of a success, or, the SENT of an
-- attempt that runs, in its lane. To be asked for an action by tenant and id, each branch looks that up by its key.
create view {schema}.history as
  select e.tenant_id, e.action_id, e.event_id, e.lane_id, e.at, e.type, e.attempt, e.worker, e.reason
  from {schema}.events e where e.action_id >= 0
  union all
  select z.tenant_id, z.action_id, z.sent_id, z.lane_id, z.sent_at, {sent}::smallint, z.attempt, coalesce(z.sent_worker, z.worker), null::text
  from {schema}.endings z where z.sent_id is not null
  union all
  select z.tenant_id, z.action_id, z.event_id, z.lane_id, z.ended_at, {succeeded}::smallint, z.attempt, z.worker, coalesce(nullif(z.reason, 'SUCCEEDED'), z.error)
  from {schema}.endings z where z.event_id is not null
  union all
  select p.tenant_id, p.action_id, l.sent_id, l.lane_id, l.leased_at, {sent}::smallint, l.attempt, l.worker, null::text
  from {schema}.pending p
  cross join lateral (select * from {schema}.lanes l where l.tenant_id = p.tenant_id and l.lane_id = p.lane_id limit 1) l
  where l.action_id = p.action_id and l.sent_id is not null;

-- The same by the names of the events. `event_id` is the order of one action's events.
create view {schema}.action_events as
  select e.tenant_id, e.action_id, e.event_id, e.lane_id, e.at, {event_names}[e.type] as type, e.attempt, e.worker, e.reason
  from {schema}.history e where e.action_id > 0;

-- How much waits in a lane, since when, and what it is leased for.
create view {schema}.lane_loads as
  select l.tenant_id, l.lane_id, q.queued, a.created_at as oldest_queued_at, l.action_id as leased_action
  from {schema}.lanes l
  cross join lateral (
    select count(*)::int as queued, min(p.action_id) as first from {schema}.pending p
    where p.tenant_id = l.tenant_id and p.lane_id = l.lane_id and {schema}.sought_by(p.lane_id) and p.action_id is distinct from l.action_id
  ) q
  left join {schema}.actions a on a.tenant_id = l.tenant_id and a.action_id = q.first;

-- The lease of every lane that has one.
create view {schema}.lane_leases as
  select l.tenant_id, l.lane_id, l.action_id, l.attempt, l.worker, l.leased_at, l.lease_until
  from {schema}.lanes l where l.action_id is not null;

-- The urgent action of a lane that everything normal on that channel has to wait for, on which channel it waits, and until when it
-- goes first unless somebody is heard of there again. The claims use the same text. To be joined laterally, for one lane at a time.
create function {schema}.urgent_elsewhere(p_now timestamptz, p_tenant int, p_lane bigint, p_channel text)
returns table (action_id bigint, channel text, until timestamptz) language sql stable as $$ {urgent_elsewhere} $$;

-- What a lane would do now for somebody who asks on that channel, as far as can be seen without a lock: the statements of a
-- claim use the same text. `is_stopped`: the lane is paused or blocked; `is_paused`: everything is, or one of those tags.
-- `first_action` stands first in it, due or not; `hands_out` is what it would hand out; `takes_new` says whether a new action
-- with those tags would be handed out at once. A lane that is leased, stopped or paused hands out nothing and takes nothing.
-- To be joined laterally, for one lane at a time.
create function {schema}.lane_front(p_now timestamptz, p_tenant int, p_lane bigint, p_channel text, p_tags text[] default null)
returns table (lane_id bigint, is_stopped boolean, is_paused boolean, leased_action bigint, first_action bigint, hands_out bigint, takes_new boolean)
language sql stable as $$ {lane_front} $$;
