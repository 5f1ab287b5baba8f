drop table {schema}.withdrawn_commands;
drop table {schema}.bus_dead_letters, {schema}.bus_subscriptions;
