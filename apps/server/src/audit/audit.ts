import type { Database, Queryable } from '@muster/engine';
import { gatherReads } from '../gathered-reads.ts';
import type { Caller } from '../tokens/caller.ts';

/** What was done, as noun.verb: the verb is that of the route. docs/operations.md lists them, and a test compares. */
export type Act = `${Lowercase<string>}.${Lowercase<string>}`;

/** The log of what operators changed. Whoever changes something passes its transaction, so both happen or neither. */
export interface AuditEntry {
  readonly tenantId: number;
  /** Null: somebody at the command line of the server. */
  readonly tokenId: string | null;
  readonly actor: string;
  readonly act: Act;
  readonly target?: string | null;
  readonly detail?: unknown;
}

export interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly act: string;
  readonly target: string | null;
  readonly detail: unknown;
}

export type Audit = ReturnType<typeof createAudit>;

export function by(caller: Caller): Pick<AuditEntry, 'tenantId' | 'tokenId' | 'actor'> {
  return { tenantId: caller.tenantId, tokenId: caller.tokenId, actor: caller.name };
}

export function createAudit(db: Database, s: string) {
  async function insert(client: Queryable, entries: readonly AuditEntry[]): Promise<string[]> {
    const { rows } = await client.query({
      name: 'muster_audit',
      text: `insert into ${s}.audit (tenant_id, token_id, actor, act, target, detail)
        select * from unnest($1::int[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::jsonb[]) returning audit_id`,
      values: [
        entries.map((entry) => entry.tenantId),
        entries.map((entry) => entry.tokenId),
        entries.map((entry) => entry.actor),
        entries.map((entry) => entry.act),
        entries.map((entry) => entry.target ?? null),
        entries.map((entry) => (entry.detail === undefined ? null : JSON.stringify(entry.detail))),
      ],
    });
    return rows.map((row) => row.audit_id);
  }

  const writeGathered = gatherReads(
    db,
    async (entries: readonly AuditEntry[]) => {
      await insert(db, entries);
      return entries.map(() => undefined);
    },
    1,
  );

  return {
    async write(client: Queryable, entry: AuditEntry): Promise<string> {
      return (await insert(client, [entry]))[0] as string;
    },

    /** For changes that are gathered and have no transaction of their own: the rows are gathered as well. */
    writeGathered: (entry: AuditEntry): Promise<void> => writeGathered(entry),

    /** What came of it, for a change that takes longer than a transaction should. */
    async complete(client: Queryable, tenantId: number, id: string, outcome: unknown): Promise<void> {
      await client.query({
        text: `update ${s}.audit set detail = coalesce(detail, '{}') || jsonb_build_object('outcome', $3::jsonb)
          where tenant_id = $1 and audit_id = $2`,
        values: [tenantId, id, JSON.stringify(outcome)],
      });
    },

    /** Newest first. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { before?: string | undefined; limit: number },
    ): Promise<AuditRow[]> {
      const { rows } = await client.query({
        text: `select audit_id, at, actor, act, target, detail from ${s}.audit
          where tenant_id = $1 and ($2::bigint is null or audit_id < $2) order by audit_id desc limit $3`,
        values: [tenantId, page.before ?? null, page.limit],
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

    /** Forgets so many old lines at most; says how many. */
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
