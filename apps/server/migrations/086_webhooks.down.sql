drop view {schema}_reports.webhooks;
drop table {schema}.webhook_tries, {schema}.webhook_deliveries, {schema}.webhook_health, {schema}.webhook_feed, {schema}.webhooks;
drop sequence {schema}.webhook_seq;
