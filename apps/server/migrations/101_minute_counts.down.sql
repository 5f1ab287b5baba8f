drop table {schema}.minute_counted;
drop table {schema}.minute_counts;
