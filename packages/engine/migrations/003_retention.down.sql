drop function {schema}.drop_event_days(date);
