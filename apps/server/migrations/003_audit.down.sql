drop table {schema}.audit;
drop sequence {schema}.audit_seq;
