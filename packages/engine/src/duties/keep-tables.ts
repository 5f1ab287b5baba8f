import type { Database, Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { isMissingTable } from '../sqlstate.ts';
import { type Duty, type DutyRun, dutyRun } from './duty.ts';

/**
 * Tells the planner how large a table has become. Plans are kept, and one made while a table was empty reads all of
 * it: 13 of the 17 ms for handing out 20 actions beside some 900 pending went into that. PostgreSQL's autovacuum
 * looks once a minute. The embedded database has none, so this also clears dead rows there.
 */
const MOST = 20;
/** Reading smaller tables whole costs little. */
const SMALL_PAGES = 8;

export function createKeepTables(context: Context, db: Database): Duty {
  const of = (schema: string) =>
    `from pg_class c where c.relnamespace = '${schema.replaceAll("'", "''")}'::regnamespace and c.relkind = 'r'
      and pg_relation_size(c.oid) / current_setting('block_size')::int >`;
  return db.kind === 'embedded' ? vacuuming(of(context.schema)) : analysing(db, of(context.schema));
}

/** A large table takes as long as it takes: no limit of the connection applies. */
function analysing(db: Database, tables: string): Duty {
  const grown = `${tables} 2 * greatest(c.relpages, 0) + ${SMALL_PAGES}`;
  return {
    name: 'keep-tables',
    everyMs: 5_000,
    isOutside: true,
    whose: null,
    due: `exists (select 1 ${grown})`,
    runOnce: (client) =>
      forEach(client, `${grown} order by c.oid limit ${MOST}`, (name) =>
        db.housekeeping.transaction((tx) => tx.query({ text: `analyze (skip_locked) ${name}` }), {
          statementMs: 0,
        }),
      ),
  };
}

/** Unchanged pages are skipped, so it costs little where little has happened. */
function vacuuming(tables: string): Duty {
  let kept: string | null = null;
  async function newest(client: Queryable): Promise<string> {
    const { rows } = await client.query({
      text: 'select pg_snapshot_xmax(pg_current_snapshot())::text as xid',
    });
    return rows[0].xid;
  }
  return {
    name: 'keep-tables',
    everyMs: 60_000,
    isOutside: true,
    whose: null,
    async runOnce(client) {
      if ((await newest(client)) === kept) return dutyRun(0, MOST);
      const run = await forEach(client, `${tables} ${SMALL_PAGES} order by c.oid`, (name) =>
        client.query({ text: `vacuum (analyze) ${name}` }),
      );
      kept = await newest(client); // not before: it is a transaction itself
      return run;
    },
  };
}

async function forEach(
  client: Queryable,
  tables: string,
  keep: (name: string) => Promise<unknown>,
): Promise<DutyRun> {
  const { rows } = await client.query({ text: `select c.oid::regclass::text as name ${tables}` });
  for (const { name } of rows)
    await keep(name).catch((error) => {
      // a day of the history that was dropped meanwhile
      if (!isMissingTable(error)) throw error;
    });
  return dutyRun(rows.length, Number.POSITIVE_INFINITY);
}
