drop view {schema}_reports.bots, {schema}_reports.orders;
drop table {schema}.bots;
drop sequence {schema}.bot_seq;
drop table {schema}.orders;
drop table {schema}.order_numbers;
