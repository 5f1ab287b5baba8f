import { type Database, type Limits, type Queryable, type Transaction, whileLocked } from '@muster/engine';
import { gatherReads } from '../database/gathered-reads.ts';
import type { Caller } from '../tokens/caller.ts';

/**
 * What was done, as noun.verb: the verb is that of the route. docs/operations.md lists them all, and a test compares.
 */
export type Act = `${Lowercase<string>}.${Lowercase<string>}`;

/** What one line of the log records. */
export interface AuditLine {
  readonly act: Act;
  readonly target?: string | null;
  readonly detail?: unknown;
}

/** Who did it. */
export type Actor = Pick<Caller, 'tenantId' | 'name'> & { readonly tokenId: string | null };

/** The command line of the server has no token. */
export const COMMAND_LINE = { tokenId: null, name: 'command line' } as const;

export interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly act: string;
  readonly target: string | null;
  readonly detail: unknown;
}

export interface AuditFilter {
  readonly actor?: string | undefined;
  /** `action.cancel`, or all acts of `action`. */
  readonly act?: string | undefined;
  readonly target?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

export type Audit = ReturnType<typeof createAudit>;

/** The log of operators' changes. */
export function createAudit(db: Database, s: string) {
  async function insert(
    client: Queryable,
    entries: readonly { actor: Actor; line: AuditLine }[],
  ): Promise<string[]> {
    const { rows } = await client.query({
      name: 'muster_audit',
      text: `insert into ${s}.audit (tenant_id, token_id, actor, act, target, detail)
        select * from unnest($1::int[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::jsonb[]) returning audit_id`,
      values: [
        entries.map(({ actor }) => actor.tenantId),
        entries.map(({ actor }) => actor.tokenId),
        entries.map(({ actor }) => actor.name),
        entries.map(({ line }) => line.act),
        entries.map(({ line }) => line.target ?? null),
        entries.map(({ line }) => (line.detail === undefined ? null : JSON.stringify(line.detail))),
      ],
    });
    return rows.map((row) => row.audit_id);
  }

  const writeGathered = gatherReads(
    db,
    async (entries: readonly { tenantId: number; actor: Actor; line: AuditLine }[]) => {
      await insert(db, entries);
      return entries.map(() => undefined);
    },
    1,
  );

  async function write(tx: Queryable, actor: Actor, line: AuditLine): Promise<void> {
    await insert(tx, [{ actor, line }]);
  }

  return {
    /**
     * A change and its line, in one transaction: both are stored or neither. While another transaction holds a lock it
     * needs, it is begun anew without holding a connection in between; after ten seconds the caller is told to try
     * again. So `run` may be called several times. A null line means that nothing was changed.
     */
    change: <T>(
      actor: Actor,
      run: (tx: Transaction) => Promise<T>,
      line: AuditLine | ((answer: T) => AuditLine | null),
      limits: Limits = {},
    ): Promise<T> =>
      whileLocked(
        db,
        async (tx) => {
          const answer = await run(tx);
          const said = typeof line === 'function' ? line(answer) : line;
          if (said) await write(tx, actor, said);
          return answer;
        },
        limits,
      ),

    /** The line of a change in the caller's transaction. */
    write,

    /** The same for several. */
    async writeAll(tx: Queryable, entries: readonly { actor: Actor; line: AuditLine }[]): Promise<void> {
      if (entries.length > 0) await insert(tx, entries);
    },

    /** For gathered changes, which have no transaction of their own: the lines are gathered as well. */
    writeGathered: (actor: Actor, line: AuditLine): Promise<void> =>
      writeGathered({ tenantId: actor.tenantId, actor, line }),

    /**
     * For a change that takes longer than a transaction should: its line is written first, and completed with the
     * outcome.
     */
    async begin(actor: Actor, line: AuditLine): Promise<(outcome: unknown) => Promise<void>> {
      const [id] = await insert(db, [{ actor, line }]);
      return async (outcome) => {
        await db.query({
          text: `update ${s}.audit set detail = coalesce(detail, '{}') || jsonb_build_object('outcome', $3::jsonb)
            where tenant_id = $1 and audit_id = $2`,
          values: [actor.tenantId, id, JSON.stringify(outcome)],
        });
      };
    },

    /** Newest first. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { before?: string | undefined; limit: number },
      filter: AuditFilter = {},
    ): Promise<AuditRow[]> {
      const { rows } = await client.query({
        text: `select audit_id, at, actor, act, target, detail from ${s}.audit
          where tenant_id = $1 and ($2::bigint is null or audit_id < $2) and ($4::text is null or actor = $4)
            and ($5::text is null or act = $5 or split_part(act, '.', 1) = $5) and ($6::text is null or target = $6)
            and ($7::timestamptz is null or at >= $7) and ($8::timestamptz is null or at < $8)
          order by audit_id desc limit $3`,
        values: [
          ...[tenantId, page.before ?? null, page.limit, filter.actor ?? null, filter.act ?? null],
          ...[filter.target ?? null, filter.after ?? null, filter.before ?? null],
        ],
      });
      return rows.map((row) => ({
        id: row.audit_id,
        at: row.at,
        actor: row.actor,
        act: row.act,
        target: row.target,
        detail: row.detail,
      }));
    },

    /** Deletes at most this many old lines; returns how many. */
    async prune(client: Queryable, days: number, most: number): Promise<number> {
      const { rows } = await client.query({
        text: `with old as (
            delete from ${s}.audit where (tenant_id, audit_id) in (
              select tenant_id, audit_id from ${s}.audit where at < now() - make_interval(days => $1) limit $2)
            returning 1
          ) select count(*)::int as n from old`,
        values: [days, most],
      });
      return rows[0].n;
    },
  };
}
