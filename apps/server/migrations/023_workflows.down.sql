drop table {schema}.workflow_runs;
drop sequence {schema}.workflow_run_seq;
drop table {schema}.workflows;
drop sequence {schema}.workflow_seq;
