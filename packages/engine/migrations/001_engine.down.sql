drop function {schema}.note(timestamptz, int, bigint, text, jsonb);
drop function {schema}.report_attempt(int, bigint, int, text, text, jsonb);
drop function {schema}.report_attempts(
  timestamptz, int[], bigint[], int[], text[], text[], text[], jsonb[], int[], text[], text[], text[], int[], bigint[]);
drop function {schema}.enqueue_and_claim_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[], text[], text[], json[], jsonb[]);
drop function {schema}.claim_named_actions(timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[]);
drop function {schema}.read_feed(xid8, bigint, int, int, int);
drop table {schema}.incarnations;
drop view {schema}.runner_loads;
drop function {schema}.lane_front(timestamptz, int, bigint, text, text[]);
drop function {schema}.urgent_elsewhere(timestamptz, int, bigint, text);
drop view {schema}.lane_leases;
drop view {schema}.lane_loads;
drop view {schema}.action_events;
drop view {schema}.history;
drop view {schema}.action_states;
drop view {schema}.unfinished_actions;
drop function {schema}.drop_event_days(date);
drop function {schema}.make_event_days(), {schema}.ensure_event_day(timestamptz), {schema}.ensure_event_days(date, date),
  {schema}.lacks_event_day(date), {schema}.events_past_end(), {schema}.enqueue(int, bigint, text, jsonb, jsonb),
  {schema}.check_action(text, jsonb, jsonb), {schema}.notify_lanes(int[], bigint[], bigint[]),
  {schema}.generation_to_write(int, bigint),
  {schema}.enqueue_plain_actions(timestamptz, int[], bigint[], text[], text[], json[], text[], int, int[], jsonb, jsonb[]),
  {schema}.enqueue_actions(timestamptz, int[], bigint[], text[], text[], json[], jsonb[], boolean),
  {schema}.ensure_lane(int, text, text), {schema}.is_name(text), {schema}.check_lane(int, text, text), {schema}.lane_refusal(int, text, text),
  {schema}.refuse(text, text, text), {schema}.make_lane(int, text, text), {schema}.reopen_lane(int, bigint);
drop function {schema}.heard_on(int, bigint);
drop table {schema}.nodes, {schema}.leaders, {schema}.count_changes, {schema}.events, {schema}.stale_lanes, {schema}.lanes_to_forget,
  {schema}.pauses, {schema}.idempotency_keys, {schema}.endings, {schema}.pending, {schema}.action_tags, {schema}.actions,
  {schema}.lane_names, {schema}.lanes, {schema}.runners;
drop sequence {schema}.event_seq, {schema}.action_seq, {schema}.runner_seq, {schema}.lane_seq;
drop function {schema}.sought_by(anyelement), {schema}.dear_to_ask(anyelement);
drop function {schema}.feed_xid_now();
drop function {schema}.feed_xid();
