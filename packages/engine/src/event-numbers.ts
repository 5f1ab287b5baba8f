import { idArray } from './binary-array.ts';
import type { Queryable } from './db.ts';
import type { Context } from './operation.ts';

type Of = Pick<Context, 'schema' | 'isDistributed'>;

/**
 * Numbers of events that are not rows of `events`. A statement takes them where it needs them. A distributed database
 * cannot take numbers inside a statement; there they are taken before, and its input rows `i` bring them.
 */
export async function takeNumbers(
  { schema, isDistributed }: Of,
  client: Queryable,
  count: number,
): Promise<unknown[]> {
  if (!isDistributed) return [];
  const { rows } = await client.query({
    name: 'muster_event_numbers',
    text: `select nextval('${schema}.event_seq') as id from generate_series(1, $1::int)`,
    values: [count],
  });
  return [idArray(rows.map((row) => row.id))];
}

/** The input rows' column for them, how a step passes it on, and the number of a row. */
export const numberColumn = ({ isDistributed }: Of): Record<string, string> =>
  isDistributed ? { number: 'bigint' } : {};
export const handedOn = ({ isDistributed }: Of) => (isDistributed ? ', i.number' : '');
export const numberOf = ({ schema, isDistributed }: Of, row: string) =>
  isDistributed ? `${row}.number` : `nextval('${schema}.event_seq')`;
