drop table {schema}.sign_ins;
drop sequence {schema}.sign_in_seq;
