drop table {schema}.tenants;
