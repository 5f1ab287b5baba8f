drop table {schema}.request_keys;
