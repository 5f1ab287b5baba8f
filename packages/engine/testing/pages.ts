import type { Connections, Database, Query, Queryable, Transaction } from '../src/index.ts';

/**
 * Pages that statements touch, counted by the database: no clock is involved. Each statement is explained, undone and
 * carried out, and in the end all of it is undone.
 */
export async function pagesTouched(
  db: Database,
  run: (client: Queryable, soFar: () => number) => Promise<unknown>,
): Promise<number> {
  let pages = 0;
  const undo = new Error('undo');
  await db
    .transaction(async (tx) => {
      const client = {
        async query(query: Query) {
          if (isExplainable(query)) pages += await explained(tx, query);
          return tx.query(query);
        },
      };
      await run(client, () => pages);
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return pages;
}

/** The same database; pages touched by the chosen statements are counted. Each is explained first. */
export function countPages(
  db: Database,
  isMeant: (text: string) => Promise<boolean>,
): { readonly db: Database; readonly pages: () => number } {
  let pages = 0;
  const inside = (tx: Transaction): Transaction => ({
    async query(query: Query) {
      if ((await isMeant(query.text)) && isExplainable(query)) pages += await explained(tx, query);
      return tx.query(query);
    },
    afterCommit: (run) => tx.afterCommit(run),
    ifInDoubt: (run) => tx.ifInDoubt(run),
  });
  const counted = (connections: Connections): Connections => ({
    query: (query: Query) => connections.transaction((tx) => inside(tx).query(query)),
    transaction: (run, limits) => connections.transaction((tx) => run(inside(tx)), limits),
  });
  return {
    db: { ...db, ...counted(db), gathered: counted(db.gathered), reserved: counted(db.reserved) },
    pages: () => pages,
  };
}

const isExplainable = ({ text }: Query) => /^\s*(with|select|insert|update|delete)\b/i.test(text);

/**
 * The smaller of two: a connection that is new, or whose caches were dropped because other suites change so many tables
 * of theirs, reads some hundred pages of the catalogue as well.
 */
async function explained(tx: Queryable, query: Query): Promise<number> {
  return Math.min(await explainedOnce(tx, query), await explainedOnce(tx, query));
}

async function explainedOnce(tx: Queryable, query: Query): Promise<number> {
  await tx.query({ text: 'savepoint explained' });
  const { rows } = await tx.query({
    text: `explain (analyze, buffers, timing off, format json) ${query.text}`,
    values: query.values ?? [],
  });
  await tx.query({ text: 'rollback to savepoint explained' });
  const given = rows[0]['QUERY PLAN'];
  const { Plan: plan } = (typeof given === 'string' ? JSON.parse(given) : given)[0];
  return pagesOf(plan) + writes(plan);
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

const pagesOf = (plan: Plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];

/** A writing step of a `with` that nothing reads runs after the rest, and its pages are not among those of the whole. */
function writes(plan: Plan): number {
  const own =
    plan['Node Type'] === 'ModifyTable' && plan['Parent Relationship'] === 'InitPlan' ? pagesOf(plan) : 0;
  return own + (plan.Plans ?? []).reduce((sum, inner) => sum + writes(inner), 0);
}
