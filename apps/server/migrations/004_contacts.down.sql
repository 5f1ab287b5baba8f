drop table {schema}.instances;
drop table {schema}.contacts;
