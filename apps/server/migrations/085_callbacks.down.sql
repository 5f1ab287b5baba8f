drop table {schema}.callback_letters, {schema}.callback_deliveries, {schema}.callback_deduplications, {schema}.callback_keys,
  {schema}.callback_lanes, {schema}.callback_runners;
