drop function {schema}_reports.fail_or_retry_task_device(int, bigint, text, int);
drop function {schema}_reports.claim_task_devices_for_pc(int, bigint, int);
drop function {schema}_reports.add_task_milestones(int, bigint[], text, timestamptz);
drop view {schema}_reports.workers;
drop view {schema}_reports.pc_device_summary;
drop view {schema}_reports.execution_logs;
drop view {schema}_reports.task_devices;
drop view {schema}_reports.tasks;
