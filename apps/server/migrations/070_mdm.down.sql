drop table {schema}.push_messages, {schema}.push_ledger, {schema}.push_tokens, {schema}.push_topics;
drop sequence {schema}.push_seq;
create or replace function {schema}.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
  select k.channel, k.online_until
  from (
    select d.device_id from {schema}.devices d where d.tenant_id = p_tenant and d.lane_id = p_lane and {schema}.sought_by(d.lane_id) limit 1
  ) d
  cross join lateral (
    select k.channel, k.online_until from {schema}.contacts k
    where k.tenant_id = p_tenant and k.channel = 'checkin' and k.target_id = d.device_id limit 1
  ) k
$$;

drop table {schema}.mdm_commands;
drop sequence {schema}.mdm_command_seq;
drop table {schema}.mdm_certificates;
drop table {schema}.mdm_devices;
drop table {schema}.mdm_enrolments;
drop table {schema}.mdm_authorities;
