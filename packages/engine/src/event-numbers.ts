import { idArray } from './binary-array.ts';
import type { Queryable } from './db.ts';
import type { Context } from './operation.ts';

type Of = Pick<Context, 'schema' | 'isDistributed'>;

/**
 * The numbers of events that are no rows of `events`. A statement takes them where it needs them, but a distributed database takes none
 * in the midst of a statement: there they are taken before, and the rows `i` that it is given bring theirs.
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

/** The column that the rows have for them, how a step hands it on, and the number of a row. */
export const numberColumn = ({ isDistributed }: Of): Record<string, string> =>
  isDistributed ? { number: 'bigint' } : {};
export const handedOn = ({ isDistributed }: Of) => (isDistributed ? ', i.number' : '');
export const numberOf = ({ schema, isDistributed }: Of, row: string) =>
  isDistributed ? `${row}.number` : `nextval('${schema}.event_seq')`;
