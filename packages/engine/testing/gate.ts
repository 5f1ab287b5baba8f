import pg from 'pg';
import type { Query, Queryable } from '../src/index.ts';
import { statementName } from './statement-name.ts';

/**
 * Stops a statement in its middle: after it has read its snapshot, before it takes its first lock. It does not see what
 * another session does meanwhile. So races happen on purpose, not by chance.
 *
 *   await gate.close();
 *   const claimed = engine.claim(gate.before(session, 'muster_claim'), …);
 *   await gate.reached(claimed); // the claim has read, and waits
 *   await engine.cancel(…); // from another session
 *   await gate.open();
 */
export interface Gate {
  close(): Promise<void>;
  /** Resolves when a statement of the call stands at the gate; fails if the call ends without one. */
  reached(call: Promise<unknown>): Promise<void>;
  open(): Promise<void>;
  before(client: Queryable, statement: string): Queryable;
  end(): Promise<void>;
}

const KEY = 4711;

export async function createGate(url: string): Promise<Gate> {
  const control = new pg.Client({ connectionString: url });
  await control.connect();
  await control.query(`create or replace function public.test_gate() returns boolean language plpgsql volatile as $$
    begin perform pg_advisory_xact_lock_shared(${KEY}); return true; end $$`);
  return {
    async close() {
      await control.query(`select pg_advisory_lock(${KEY})`);
    },
    async reached(call) {
      let hasEnded = false;
      const ended = () => {
        hasEnded = true;
      };
      call.then(ended, ended);
      for (;;) {
        const { rows } = await control.query(
          `select 1 from pg_locks where locktype = 'advisory' and objid = ${KEY} and not granted
            and database = (select oid from pg_database where datname = current_database())`,
        );
        if (rows.length > 0) return;
        if (hasEnded)
          throw new Error('The call ended without a statement at the gate.', { cause: await call });
      }
    },
    async open() {
      await control.query(`select pg_advisory_unlock(${KEY})`);
    },
    before: (client, statement) => ({
      query(query: Query) {
        if (statementName(query.name) !== statement) return client.query(query);
        const text = gated(query.text);
        if (text === query.text) throw new Error(`${statement} has no place for a gate.`);
        return client.query({ ...query, name: `${statement}~gated`, text });
      },
    }),
    end: () => control.end(),
  };
}

/**
 * Before the lock of a runner if there is one, else before the first of a lane (see `lockedLane` in src/sql.ts); a
 * statement that locks no lane stops where it has looked one up.
 */
function gated(text: string): string {
  const beforeLock = text.replace(
    /(select 1 from \w+\.(?:lanes|runners) \w where )(?=[^()]*for (?:no key )?update skip locked)/,
    '$1public.test_gate() and ',
  );
  if (beforeLock !== text) return beforeLock;
  return text.replace(
    /(select \* from \w+\.lanes l where l\.tenant_id = a\.tenant_id and l\.lane_id = coalesce\(p\.lane_id, a\.lane_id\))/,
    '$1 and public.test_gate()',
  );
}
