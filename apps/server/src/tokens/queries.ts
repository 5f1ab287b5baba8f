import type { Queryable } from '@muster/engine';
import type { Role, TokenKind } from './kinds.ts';

export interface TokenRow {
  readonly tokenId: string;
  readonly tenantId: number;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  readonly origin: 'issued' | 'setting' | 'folder';
  readonly restriction: unknown;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly replaces: string | null;
  readonly firstUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface NewToken {
  readonly tenantId: number;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  readonly sha256: Buffer;
  readonly origin: TokenRow['origin'];
  readonly restriction: unknown;
  readonly createdBy: string | null;
  readonly replaces: string | null;
}

const COLUMNS = `tenant_id, token_id, kind, role, name, origin, restriction, created_at, created_by, replaces, first_used_at, revoked_at`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
function token(row: any): TokenRow {
  return {
    tokenId: row.token_id,
    tenantId: row.tenant_id,
    kind: row.kind,
    role: row.role,
    name: row.name,
    origin: row.origin,
    restriction: row.restriction,
    createdAt: row.created_at,
    createdBy: row.created_by,
    replaces: row.replaces,
    firstUsedAt: row.first_used_at,
    revokedAt: row.revoked_at,
  };
}

export function createTokenQueries(s: string) {
  return {
    async find(
      client: Queryable,
      tenantId: number,
      sha256: Buffer,
    ): Promise<(TokenRow & { sha256: Buffer }) | null> {
      const { rows } = await client.query({
        name: 'muster_find_token',
        text: `select ${COLUMNS}, sha256 from ${s}.tokens where tenant_id = $1 and sha256 = $2 and revoked_at is null`,
        values: [tenantId, sha256],
      });
      return rows[0] ? { ...token(rows[0]), sha256: rows[0].sha256 } : null;
    },

    async get(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow | null> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.tokens where tenant_id = $1 and token_id = $2`,
        values: [tenantId, tokenId],
      });
      return rows[0] ? token(rows[0]) : null;
    },

    async list(client: Queryable, tenantId: number): Promise<TokenRow[]> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.tokens where tenant_id = $1 order by token_id desc`,
        values: [tenantId],
      });
      return rows.map(token);
    },

    /** A token that is there already, by its hash, is valid again; it keeps its id. */
    async insert(client: Queryable, given: NewToken): Promise<TokenRow> {
      const { rows } = await client.query({
        text: `insert into ${s}.tokens (tenant_id, kind, role, name, sha256, origin, restriction, created_by, replaces)
          values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9)
          on conflict (tenant_id, sha256) do update set revoked_at = null, role = excluded.role, origin = excluded.origin
          returning ${COLUMNS}`,
        values: [
          given.tenantId,
          given.kind,
          given.role,
          given.name,
          given.sha256,
          given.origin,
          given.restriction === null ? null : JSON.stringify(given.restriction),
          given.createdBy,
          given.replaces,
        ],
      });
      return token(rows[0]);
    },

    /** Null: unknown. A token that was revoked before keeps its time. */
    async revoke(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow | null> {
      const { rows } = await client.query({
        text: `update ${s}.tokens set revoked_at = coalesce(revoked_at, now()) where tenant_id = $1 and token_id = $2
          returning ${COLUMNS}`,
        values: [tenantId, tokenId],
      });
      return rows[0] ? token(rows[0]) : null;
    },

    /** Every other token of that origin: a setting that was changed must not leave its old value valid. */
    async revokeOthersOf(
      client: Queryable,
      tenantId: number,
      origin: TokenRow['origin'],
      keep: string | null,
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `update ${s}.tokens set revoked_at = now()
          where tenant_id = $1 and origin = $2 and revoked_at is null and token_id is distinct from $3::bigint returning token_id`,
        values: [tenantId, origin, keep],
      });
      return rows.map((row) => row.token_id);
    },

    /** The first use of a token ends those that it replaces, however often the rotation was repeated meanwhile. */
    async markFirstUse(client: Queryable, tenantId: number, tokenId: string): Promise<string[]> {
      const { rows } = await client.query({
        text: `with recursive used as (
            update ${s}.tokens set first_used_at = coalesce(first_used_at, now()) where tenant_id = $1 and token_id = $2 returning replaces
          ), older as (
            select t.token_id, t.replaces from ${s}.tokens t join used u on t.tenant_id = $1 and t.token_id = u.replaces
            union
            select t.token_id, t.replaces from ${s}.tokens t join older o on t.tenant_id = $1 and t.token_id = o.replaces
          )
          update ${s}.tokens t set revoked_at = now() from older o
          where t.tenant_id = $1 and t.token_id = o.token_id and t.revoked_at is null returning t.token_id`,
        values: [tenantId, tokenId],
      });
      return rows.map((row) => row.token_id);
    },

    async countAdmins(client: Queryable, tenantId: number, except: string | null): Promise<number> {
      const { rows } = await client.query({
        text: `select count(*)::int as n from ${s}.tokens
          where tenant_id = $1 and kind = 'operator' and role = 'admin' and revoked_at is null and token_id is distinct from $2::bigint`,
        values: [tenantId, except],
      });
      return rows[0].n;
    },

    async notify(client: Queryable, channel: string, words: readonly string[]): Promise<void> {
      if (words.length === 0) return;
      await client.query({
        text: 'select pg_notify($1, w) from unnest($2::text[]) w',
        values: [channel, words],
      });
    },
  };
}
