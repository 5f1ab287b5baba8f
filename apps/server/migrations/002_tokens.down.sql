drop table {schema}.tokens;
drop sequence {schema}.token_seq;
