import type { Connections, Database, Query, Queryable, Transaction } from '../src/index.ts';
import { statementName } from './statement-name.ts';

/**
 * Broken on purpose. Rewrites the text of named statements on their way to the database, so that a proof can be shown to
 * catch the fault it is meant for. A rewrite that changes nothing is an error: the statement has changed, and the broken
 * variant must follow.
 *
 *   const engine = createEngine(sabotage(db, { muster_claim: (sql) => cut(sql, 'and l.ver = x.ver') }));
 *
 * A statement is matched with whatever effects it carries; `+name` is every statement that carries that effect or step.
 */
export type Rewriting = (text: string) => string;
export type Sabotage = Readonly<Record<string, Rewriting>>;

export function sabotageClient<C extends Queryable>(client: C, by: Sabotage): Queryable {
  return { query: (query: Query) => client.query(rewritten(query, by)) };
}

export function sabotage(db: Database, by: Sabotage): Database {
  const onTransaction = (tx: Transaction): Transaction => ({
    query: (query: Query) => tx.query(rewritten(query, by)),
    afterCommit: (run) => tx.afterCommit(run),
    ifInDoubt: (run) => tx.ifInDoubt(run),
  });
  const on = (calls: Connections): Connections => ({
    query: (query: Query) => calls.query(rewritten(query, by)),
    transaction: (run, limits) => calls.transaction((tx) => run(onTransaction(tx)), limits),
  });
  return {
    ...db,
    ...on(db),
    gathered: on(db.gathered),
    housekeeping: on(db.housekeeping),
    reserved: on(db.reserved),
  };
}

function rewritten(query: Query, by: Sabotage): Query {
  const name = statementName(query.name);
  // an effect is part of many statements: it is recognised by the name of its transitions, or by that of a step
  const has = (step: string) => query.text.includes(`${step}_tr as `) || query.text.includes(`${step} as (`);
  const rewritings = Object.entries(by).flatMap(([key, rewrite]) =>
    key === name || (key.startsWith('+') && has(key.slice(1))) ? [rewrite] : [],
  );
  if (rewritings.length === 0) return query;
  const text = rewritings.reduce((sql, rewrite) => rewrite(sql), query.text);
  if (text === query.text) throw new Error(`The sabotage of ${query.name} changes nothing.`);
  return { ...query, name: `${query.name}~sabotaged_${number(text)}`, text };
}

/** A prepared statement is known by its name: every variant needs one of its own. */
const numbers = new Map<string, number>();
function number(text: string): number {
  const known = numbers.get(text) ?? numbers.size;
  numbers.set(text, known);
  return known;
}

/** Replaces a piece of SQL, however white space separates its words. */
export function swap(text: string, piece: string, by: string): string {
  const words = piece
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return text.replace(new RegExp(words.join('\\s+'), 'g'), () => by);
}

export const cut = (text: string, piece: string) => swap(text, piece, '');
