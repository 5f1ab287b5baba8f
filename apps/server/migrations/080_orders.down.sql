drop table {schema}.bots;
drop sequence {schema}.bot_seq;
drop table {schema}.orders;
drop table {schema}.order_numbers;
