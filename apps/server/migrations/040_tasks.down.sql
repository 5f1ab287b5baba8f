drop table {schema}.task_counts;
drop table {schema}.task_targets;
drop table {schema}.tasks;
drop sequence {schema}.task_seq;
drop table {schema}.task_lines;
drop index {schema}.runner_tokens;
alter table {schema}.devices drop column absent_since;
drop table {schema}.pcs;
drop sequence {schema}.pc_seq;
