drop function {schema}.events_past_end(), {schema}.ensure_event_days(date, date),
  {schema}.generation_to_write(int, bigint),
  {schema}.enqueue(int, bigint, text, jsonb, jsonb), {schema}.notify_lanes(int[], bigint[], bigint[]),
  {schema}.enqueue_actions(timestamptz, int[], bigint[], text[], text[], jsonb[], jsonb[]),
  {schema}.ensure_lane(int, text, text);
