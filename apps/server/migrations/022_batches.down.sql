drop table {schema}.batch_supplies;
drop table {schema}.batches;
drop sequence {schema}.batch_seq;
