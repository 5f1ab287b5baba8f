import type { Queryable } from '../db.ts';
import type { ActionFilter } from './action-filter.ts';

/**
 * One operation over everything that matches a filter, in chunks, oldest first, up to the newest action at the start,
 * so that it ends even while new actions keep arriving.
 */
const CHUNK = 500;

export async function forEachMatch<Answer>(
  lookUp: {
    newestId(client: Queryable): Promise<string>;
    ids(
      client: Queryable,
      filter: ActionFilter,
      page: { after: string; upTo: string; limit: number },
    ): Promise<string[]>;
  },
  client: Queryable,
  filter: ActionFilter,
  perform: (ids: readonly string[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const upTo = await lookUp.newestId(client);
  const answers: Answer[] = [];
  for (let after = '0'; ; ) {
    const ids = await lookUp.ids(client, filter, { after, upTo, limit: CHUNK });
    if (ids.length === 0) return answers;
    answers.push(...(await perform(ids)));
    after = ids.at(-1) as string;
  }
}
