drop table {schema}.expiry_notices;
drop table {schema}.targets;
drop table {schema}.target_sets;
drop sequence {schema}.target_set_seq;
drop function {schema}.note_device_state(timestamptz, int, bigint, bigint, text, text, text);
create or replace function {schema}.lane_refusal(p_tenant int, p_space text, p_name text) returns table (code text, sentence text) language sql stable as $$
  select null::text, null::text where false
$$;
create or replace function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select null::text, null::timestamptz where false
$$;
drop function {schema}.lock_expiries(int[], bigint[], bigint[]);
drop table {schema}.milestones;
drop sequence {schema}.milestone_seq;
drop table {schema}.assignments;
drop table {schema}.devices;
drop sequence {schema}.device_seq;
