drop function {schema}.make_event_days(), {schema}.ensure_event_day(timestamptz), {schema}.ensure_event_days(date, date),
  {schema}.lacks_event_day(date), {schema}.events_past_end(), {schema}.enqueue(int, bigint, text, jsonb, jsonb),
  {schema}.check_action(text, jsonb, jsonb), {schema}.notify_lanes(int[], bigint[], bigint[]),
  {schema}.generation_to_write(int, bigint),
  {schema}.enqueue_plain_actions(timestamptz, int[], bigint[], text[], text[], json[], text[], int, boolean[]),
  {schema}.enqueue_actions(timestamptz, int[], bigint[], text[], text[], json[], jsonb[], boolean),
  {schema}.ensure_lane(int, text, text), {schema}.is_name(text), {schema}.check_lane(int, text, text), {schema}.lane_refusal(int, text, text),
  {schema}.refuse(text, text, text), {schema}.make_lane(int, text, text), {schema}.reopen_lane(int, bigint);
