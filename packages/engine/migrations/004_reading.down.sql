drop function {schema}.lane_front(timestamptz, int, bigint, text, text[]);
drop function {schema}.urgent_elsewhere(timestamptz, int, bigint, text);
drop view {schema}.lane_leases;
drop view {schema}.lane_loads;
drop view {schema}.action_events;
drop view {schema}.history;
drop view {schema}.action_states;
drop view {schema}.unfinished_actions;
