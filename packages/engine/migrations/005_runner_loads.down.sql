drop view {schema}.runner_loads;
