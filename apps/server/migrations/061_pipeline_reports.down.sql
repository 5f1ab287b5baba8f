drop view {schema}_reports.message_templates;
drop view {schema}_reports.batch_actions;
drop view {schema}_reports.batch_device_actions;
drop view {schema}_reports.action_executions;
