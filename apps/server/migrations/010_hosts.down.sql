drop table {schema}.services;
drop table {schema}.hosts;
drop sequence {schema}.service_seq;
drop sequence {schema}.host_seq;
