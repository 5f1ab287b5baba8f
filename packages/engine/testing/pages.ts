import type { Database, Query, Queryable } from '../src/index.ts';

/**
 * Pages that statements touch, counted by the database itself: no clock is involved. Each statement is explained, undone and
 * carried out, and in the end all of it is undone.
 */
export async function pagesTouched(
  db: Database,
  run: (client: Queryable) => Promise<unknown>,
): Promise<number> {
  let pages = 0;
  const undo = new Error('undo');
  await db
    .transaction(async (tx) => {
      await run({
        async query(query: Query) {
          if (/^\s*(with|select|insert|update|delete)\b/i.test(query.text))
            pages += await explained(tx, query);
          return tx.query(query);
        },
      });
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return pages;
}

async function explained(tx: Queryable, query: Query): Promise<number> {
  await tx.query({ text: 'savepoint explained' });
  const { rows } = await tx.query({
    text: `explain (analyze, buffers, timing off, format json) ${query.text}`,
    values: query.values ?? [],
  });
  await tx.query({ text: 'rollback to savepoint explained' });
  const given = rows[0]['QUERY PLAN'];
  const { Plan: plan } = (typeof given === 'string' ? JSON.parse(given) : given)[0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}
