import type pg from 'pg';
import type { Connections, Limits, PoolLoad, Query, Queryable, Transaction } from '../db.ts';
import type { Distribution } from '../distributed/distribution.ts';
import { overloaded } from '../errors.ts';
import { markTransaction, refuseInsideTransaction } from '../open-transaction.ts';
import { isOutcomeUnknown, isReadOnlyServer } from '../sqlstate.ts';
import { ownQuery } from './own-query.ts';
import { unconfirmed } from './unconfirmed.ts';

export interface Patience {
  /** The server ends a statement after this time; 0: never. */
  readonly statementMs: number;
  /** A transaction must begin within this time, or the connection counts as dead. */
  readonly beginMs: number;
  /** Statements may take long, so the connection is checked before each, as a `begin` would. */
  readonly asksFirst?: boolean;
  /** The database is distributed by tenant. */
  readonly distribution?: Distribution | null;
  /**
   * What each transaction sets for itself, and each statement is one: behind a pooler in transaction mode nothing of a
   * session stays, neither its settings nor its prepared statements.
   */
  readonly setLocal?: readonly string[] | undefined;
  /** A statement was refused because the server only reads. */
  readonly onReadOnly?: () => void;
}

export const DEADLINE_MS = 10_000;
/** With this many callers waiting for a connection, the next one is refused at once. */
const MOST_WAITING = 20_000;
/** The server's own limit comes first, so the statement's outcome is known. */
const CLIENT_WAITS_LONGER = 1.2;
const NO_ANSWER = 'Query read timeout';

/**
 * Statements and transactions over one `pg` pool; the basis of both drivers. If a statement takes too long and even
 * its end is not heard of, its connection counts as half-open (its peer is gone without a sign) and is thrown away.
 * What was sent there may have been carried out.
 */
export function pooled(pool: pg.Pool, patience?: Patience) {
  const setLocal = patience?.setLocal;
  const distribution = patience?.distribution;
  const own = ({ name, ...rest }: Query) =>
    ownQuery(name === undefined || setLocal ? rest : { name, ...rest });
  const within = <Q extends object>(config: Q, statementMs = patience?.statementMs ?? 0) =>
    statementMs === 0
      ? config
      : Object.assign(config, { query_timeout: Math.ceil(statementMs * CLIENT_WAITS_LONGER) });
  // A connection that breaks while lent out, between two statements of a transaction, emits an error event; without a
  // listener that would end the process. The next statement fails, and that is enough.
  pool.on('connect', (client) => void client.on('error', () => {}));
  const mustBeConfirmed = unconfirmed(pool);

  function check(): void {
    refuseInsideTransaction();
    if (pool.waitingCount >= MOST_WAITING) throw overloaded();
  }

  function notice(error: unknown): void {
    if (isReadOnlyServer(error)) patience?.onReadOnly?.();
  }

  const connections = {
    async query(config: Query) {
      if (setLocal) return connections.transaction((tx) => tx.query(config));
      check();
      const client = await pool.connect();
      try {
        if (patience?.asksFirst) await client.query(within({ text: '' }, patience.beginMs));
        const send = (query: Query) => client.query(within(own(query)));
        const result = await (distribution ? distribution.run(client, config, send) : send(config));
        mustBeConfirmed(client);
        client.release();
        return result;
      } catch (error) {
        client.release(error as Error);
        notice(error);
        throw error;
      }
    },

    // it keeps its names, because it is not of this pool, and reaches the server itself
    adopt(client: Queryable): Queryable {
      const send = (query: Query) => client.query(ownQuery(query));
      return { query: distribution ? (query: Query) => distribution.run(client, query, send) : send };
    },

    async transaction<T>(run: (tx: Transaction) => Promise<T>, limits: Limits = {}): Promise<T> {
      check();
      const client = await pool.connect();
      const afterCommit: (() => void)[] = [];
      const statementMs = patience && (limits.statementMs ?? patience.statementMs);
      const ifInDoubt: (() => void)[] = [];
      let committing = false;
      let failure: unknown;
      let result: T;
      try {
        const begin = patience ? beginWith(limits, setLocal, distribution ?? null) : ['begin'];
        for (const text of begin) await client.query(within({ text }, patience?.beginMs));
        const send = (query: Query) => client.query(within(own(query), statementMs));
        const tx: Transaction = {
          query: distribution ? (query: Query) => distribution.run(client, query, send) : send,
          afterCommit: (then) => void afterCommit.push(then),
          ifInDoubt: (then) => void ifInDoubt.push(then),
        };
        result = await markTransaction(() => run(tx));
        // A failed statement inside a transaction turns `commit` into a silent rollback: report it.
        committing = true;
        const committed = await client.query(within({ text: 'commit' }, statementMs));
        mustBeConfirmed(client);
        committing = false;
        if (committed.command !== 'COMMIT') throw new Error('An earlier error rolled the transaction back.');
      } catch (error) {
        failure = error;
        if (committing && isOutcomeUnknown(error)) for (const then of ifInDoubt) then();
        // If even the rollback fails, the connection is broken and must not return to the pool. A connection that
        // still owes an answer gets no rollback: it would queue behind a statement that does not end.
        if (error instanceof Error && (error.message === NO_ANSWER || isReadOnlyServer(error)))
          client.release(error);
        else
          await client.query(within({ text: 'rollback' }, patience?.beginMs)).then(
            () => client.release(),
            (broken: Error) => client.release(broken),
          );
        notice(error);
        throw failure;
      }
      client.release();
      for (const then of afterCommit) then();
      return result;
    },
  };
  return connections satisfies Connections & { adopt(client: Queryable): Queryable };
}

export function loadOf({ idleCount, options, totalCount, waitingCount }: pg.Pool): PoolLoad {
  return { most: options.max, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}

/**
 * On a distributed database what a transaction sets for itself also holds on the server of its tenant, where it reads tables
 * and waits for locks: it would wait there until its statement is ended. All commands that come together with a setting
 * are passed on, so `begin` comes alone.
 */
const PASSED_ON = `set local citus.propagate_set_commands = 'local'`;

function beginWith(
  { lockMs, statementMs }: Limits,
  setLocal: readonly string[] = [],
  distribution: Distribution | null = null,
): string[] {
  const settings = [
    ...setLocal.map((setting) => `set local ${setting}`),
    ...(lockMs === undefined ? [] : [`set local lock_timeout = ${lockMs}`]),
    ...(statementMs === undefined ? [] : [`set local statement_timeout = ${statementMs}`]),
  ];
  if (distribution) return [`begin; ${PASSED_ON}`, settings.join('; ')];
  return [['begin', ...settings].join('; ')];
}
