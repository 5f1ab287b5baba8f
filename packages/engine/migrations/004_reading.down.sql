drop view {schema}.action_states;
drop view {schema}.unfinished_actions;
