-- breaking: no
-- The statements of the library as functions, for doors that are spoken to in plain SQL: the same text, with the parameters
-- in the same order. What a door's effects do when the library makes such a transition, whoever calls these does himself.

-- Runners take these very actions; see ops/claim-named.ts.
create function {schema}.claim_named_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[]
) returns table (action_id bigint, lane_id bigint, nth int) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {claim_named_statement} loop
    if v.action_id is not null then
      action_id := v.action_id;
      lane_id := v.lane_id;
      nth := v.nth;
      return next;
    end if;
  end loop;
end $$;

-- Actions that come into being as they are handed out; see ops/enqueue-and-claim.ts.
create function {schema}.enqueue_and_claim_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[], text[], text[],
  json[], jsonb[]
) returns table (action_id bigint, lane_id bigint, nth int) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {enqueue_and_claim_statement} loop
    if v.action_id is not null then
      action_id := v.action_id;
      lane_id := v.lane_id;
      nth := v.nth;
      return next;
    end if;
  end loop;
end $$;

-- How attempts went; see report/statement.ts. A row is missing if the attempt is not running, or its lane is locked.
create function {schema}.report_attempts(
  timestamptz, int[], bigint[], int[], text[], text[], text[], jsonb[], int[], text[], text[], text[], int[], bigint[]
) returns table (action_id bigint, lane_id bigint, state text, runner_id bigint, lease_runner bigint, home_lane bigint) language plpgsql as $$
#variable_conflict use_column
declare
  v record;
begin
  for v in {report_statement} loop
    action_id := v.ended_action;
    lane_id := v.lane_id;
    state := coalesce(v.ended_state, 'pending');
    runner_id := v.runner_id;
    lease_runner := v.lease_runner;
    home_lane := v.home_lane;
    return next;
  end loop;
end $$;

-- One attempt: succeeded, failed, timeout, not_now, released or unreached. Says what the action is now, or null if that attempt is not running.
create function {schema}.report_attempt(
  p_tenant int, p_action bigint, p_attempt int, p_outcome text, p_error text default null, p_result jsonb default null
) returns text language plpgsql as $$
declare
  v record;
begin
  perform {schema}.ensure_event_day(statement_timestamp());
  for i in 1..20 loop
    select * into v from {schema}.report_attempts(statement_timestamp(), array[p_tenant], array[p_action], array[p_attempt],
      array[p_outcome], array[null::text], array[p_error], array[p_result], array[null::int], array[null::text], array[null::text],
      array[null::text], array[null::int], array[null::bigint]);
    if found then
      perform {schema}.notify_lanes(array[p_tenant, p_tenant], array[v.lane_id, coalesce(v.home_lane, v.lane_id)],
        array[v.runner_id, v.lease_runner]);
      return v.state;
    end if;
    perform 1 from {schema}.action_states a
      where a.tenant_id = p_tenant and a.action_id = p_action and a.state = 'claimed' and a.attempt = p_attempt;
    if not found then
      return null;
    end if;
    perform pg_sleep(0.01 * i); -- the lane is locked by another transaction
  end loop;
  raise exception 'The lane is locked by another transaction.' using errcode = 'lock_not_available';
end $$;

-- An event NOTED, as the library's `note` writes it: for follow-ups of transitions, which are part of their statement. Whoever calls
-- it from elsewhere tells nobody, and readers of the feed find it when they look next.
create function {schema}.note(p_at timestamptz, p_tenant int, p_lane bigint, p_name text, p_data jsonb) returns bigint language sql as $$
  insert into {schema}.events (tenant_id, action_id, lane_id, at, type, attempt, reason, note)
    values (p_tenant, 0, p_lane, p_at, {noted}, 0, p_name, p_data) returning event_id
$$;
