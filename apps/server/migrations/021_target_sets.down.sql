drop table {schema}.expiry_notices;
drop table {schema}.targets;
drop table {schema}.target_sets;
drop sequence {schema}.target_set_seq;
