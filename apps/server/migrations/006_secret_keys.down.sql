drop table {schema}.secret_keys;
