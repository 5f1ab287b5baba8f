drop function {schema}.lock_expiries(int[], bigint[], bigint[]);
drop table {schema}.milestones;
drop sequence {schema}.milestone_seq;
drop table {schema}.assignments;
drop table {schema}.devices;
drop sequence {schema}.device_seq;
