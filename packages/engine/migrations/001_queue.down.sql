drop function {schema}.heard_on(int, bigint);
drop table {schema}.nodes, {schema}.leaders, {schema}.count_changes, {schema}.events, {schema}.stale_lanes, {schema}.lanes_to_forget,
  {schema}.pauses, {schema}.idempotency_keys, {schema}.endings, {schema}.pending, {schema}.action_tags, {schema}.actions,
  {schema}.lane_names, {schema}.lanes, {schema}.runners;
drop sequence {schema}.event_seq, {schema}.action_seq, {schema}.runner_seq, {schema}.lane_seq;
drop function {schema}.sought_by(anyelement);
drop function {schema}.feed_xid();
