drop function {schema}.lane_front(timestamptz, int, bigint, text, text[]);
drop view {schema}.action_states;
drop view {schema}.unfinished_actions;
