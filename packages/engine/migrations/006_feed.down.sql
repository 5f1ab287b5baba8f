drop function {schema}.read_feed(xid8, bigint, int, int, int);
drop table {schema}.incarnations;
