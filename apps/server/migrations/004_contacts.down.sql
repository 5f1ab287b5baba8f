drop table {schema}.contacts;
