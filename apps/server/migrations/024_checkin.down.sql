drop view {schema}_reports.t_queue_action;
drop schema {schema}_reports;
