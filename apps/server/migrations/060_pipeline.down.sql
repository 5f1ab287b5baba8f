drop view {schema}_reports.message_templates;
drop view {schema}_reports.batch_actions;
drop view {schema}_reports.batch_device_actions;
drop view {schema}_reports.action_executions;
drop function {schema}.uuid_v7(timestamptz);
drop table {schema}.message_templates;
drop sequence {schema}.message_template_seq;
drop table {schema}.executions;
drop table {schema}.pipeline_actions;
alter table {schema}.milestones drop column policy;
drop index {schema}.devices_by_serial;
drop index {schema}.one_device_per_udid;
alter table {schema}.devices drop column policy, drop column udid, drop column life_began_at, drop column has_unlock_token, drop column serial,
  drop column model, drop column os_version;
