drop function {schema}.note(timestamptz, int, bigint, text, jsonb);
drop function {schema}.report_attempt(int, bigint, int, text, text, jsonb);
drop function {schema}.report_attempts(
  timestamptz, int[], bigint[], int[], text[], text[], text[], jsonb[], int[], text[], text[], text[], int[], bigint[]);
drop function {schema}.enqueue_and_claim_actions(
  timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[], text[], text[], json[], jsonb[]);
drop function {schema}.claim_named_actions(timestamptz, int[], bigint[], text[], int[], int[], int[], bigint[]);
