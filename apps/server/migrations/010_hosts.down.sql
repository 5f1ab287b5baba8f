drop index {schema}.tokens_of_host;
drop table {schema}.services;
drop table {schema}.hosts;
drop sequence {schema}.service_seq;
drop sequence {schema}.host_seq;
