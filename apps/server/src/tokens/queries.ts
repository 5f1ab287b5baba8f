import type { Role, TokenKind } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';
import type { Caller } from './caller.ts';

export interface TokenRow {
  readonly tokenId: string;
  readonly tenantId: number;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  readonly origin: 'issued' | 'setting' | 'folder';
  readonly restriction: unknown;
  /** The id of the target that owns the token; the kind says whether that is a host, a device or a PC. */
  readonly owner: string | null;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly replaces: string | null;
  readonly firstUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** What a request needs of its token: each further column costs it time. */
export interface FoundToken {
  readonly caller: Caller;
  readonly sha256: Buffer;
  readonly wasUsed: boolean;
}

export interface NewToken {
  readonly tenantId: number;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  readonly sha256: Buffer;
  readonly origin: TokenRow['origin'];
  readonly restriction: unknown;
  readonly owner: string | null;
  readonly createdBy: string | null;
  readonly replaces: string | null;
}

export const COLUMNS = `tenant_id, token_id, kind, role, name, origin, restriction, owner, created_at, created_by, replaces, first_used_at, revoked_at`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
export function token(row: any): TokenRow {
  return {
    tokenId: row.token_id,
    tenantId: row.tenant_id,
    kind: row.kind,
    role: row.role,
    name: row.name,
    origin: row.origin,
    restriction: row.restriction,
    owner: row.owner,
    createdAt: row.created_at,
    createdBy: row.created_by,
    replaces: row.replaces,
    firstUsedAt: row.first_used_at,
    revokedAt: row.revoked_at,
  };
}

export interface TokenPage {
  readonly kinds: readonly TokenKind[];
  readonly before?: string | undefined;
  readonly limit?: number;
}

/** The valid tokens of owners; `$1` is the tenant, `$2` the kind, `$3` the owners. */
const validOf = (s: string) => `
            select t.token_id, i.owner from unnest((select $3::bigint[])) i(owner)
            cross join lateral (
              select t.token_id from ${s}.tokens t
              where t.tenant_id = $1 and t.kind = $2 and t.owner = i.owner and ${s}.sought_by(t.owner) and t.revoked_at is null
              offset 0
            ) t`;

/** The valid ones of tenant `$1`, locked by number, so transactions never deadlock. */
const locked = (s: string, ids: string) => `
            select t.* from (select distinct w.token_id from (${ids}) w order by w.token_id) i
            cross join lateral (
              select t.tenant_id, t.token_id, t.replaces from ${s}.tokens t
              where t.tenant_id = $1 and t.token_id = i.token_id and t.revoked_at is null limit 1 for update
            ) t`;

export function createTokenQueries(s: string) {
  return {
    /** Many at once: devices of a fleet reconnect one by one, each with its own token. */
    async findMany(
      client: Queryable,
      wanted: readonly { tenantId: number; sha256: Buffer }[],
    ): Promise<(FoundToken | null)[]> {
      const { rows } = await client.query({
        name: 'muster_find_tokens',
        text: `select i.ord::int, t.* from unnest((select $1::int[]), (select $2::bytea[])) with ordinality as i(tenant_id, hash, ord)
          cross join lateral (
            select tenant_id, token_id, kind, role, name, restriction, sha256, first_used_at is not null as was_used from ${s}.tokens t
            where t.tenant_id = i.tenant_id and t.sha256 = i.hash and ${s}.sought_by(t.sha256) and t.revoked_at is null limit 1
          ) t`,
        values: [wanted.map((one) => one.tenantId), wanted.map((one) => one.sha256)],
      });
      const found: (FoundToken | null)[] = wanted.map(() => null);
      for (const row of rows)
        found[row.ord - 1] = {
          caller: {
            tenantId: row.tenant_id,
            tokenId: row.token_id,
            kind: row.kind,
            role: row.role,
            name: row.name,
            restriction: row.restriction,
          },
          sha256: row.sha256,
          wasUsed: row.was_used,
        };
      return found;
    },

    async get(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow | null> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.tokens where tenant_id = $1 and token_id = $2`,
        values: [tenantId, tokenId],
      });
      return rows[0] ? token(rows[0]) : null;
    },

    /** Newest first. */
    async list(client: Queryable, tenantId: number, page: TokenPage): Promise<TokenRow[]> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.tokens where tenant_id = $1 and kind = any($2::text[])
          and ($3::bigint is null or token_id < $3) order by token_id desc limit $4`,
        values: [tenantId, page.kinds, page.before ?? null, page.limit ?? null],
      });
      return rows.map(token);
    },

    /** A known token, by its hash, becomes valid again; it keeps its id. */
    async insert(client: Queryable, given: NewToken): Promise<TokenRow> {
      const { rows } = await client.query({
        text: `insert into ${s}.tokens (tenant_id, kind, role, name, sha256, origin, restriction, owner, created_by, replaces)
          values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10)
          on conflict (tenant_id, sha256) where ${s}.sought_by(sha256) do update set revoked_at = null, role = excluded.role, origin = excluded.origin
          returning ${COLUMNS}`,
        values: [
          given.tenantId,
          given.kind,
          given.role,
          given.name,
          given.sha256,
          given.origin,
          given.restriction === null ? null : JSON.stringify(given.restriction),
          given.owner,
          given.createdBy,
          given.replaces,
        ],
      });
      return token(rows[0]);
    },

    /** Many new ones; null for a hash that is already taken. */
    async insertMany(
      client: Queryable,
      given: readonly Omit<NewToken, 'origin' | 'role'>[],
    ): Promise<(string | null)[]> {
      const { rows } = await client.query({
        text: `insert into ${s}.tokens (tenant_id, kind, name, sha256, restriction, owner, created_by, replaces)
          select * from unnest($1::int[], $2::text[], $3::text[], $4::bytea[], $5::jsonb[], $6::bigint[], $7::text[], $8::bigint[])
          on conflict (tenant_id, sha256) where ${s}.sought_by(sha256) do nothing returning token_id, sha256`,
        values: [
          given.map((one) => one.tenantId),
          given.map((one) => one.kind),
          given.map((one) => one.name),
          given.map((one) => one.sha256),
          given.map((one) => (one.restriction === null ? null : JSON.stringify(one.restriction))),
          given.map((one) => one.owner),
          given.map((one) => one.createdBy),
          given.map((one) => one.replaces),
        ],
      });
      const ids = new Map(rows.map((row) => [row.sha256.toString('latin1'), row.token_id as string]));
      return given.map((one) => ids.get(one.sha256.toString('latin1')) ?? null);
    },

    /** Tokens with these hashes, valid or not: a hash is never used for two. */
    async withHashes(
      client: Queryable,
      tenantId: number,
      hashes: readonly Buffer[],
    ): Promise<(TokenRow & { sha256: Buffer })[]> {
      const { rows } = await client.query({
        text: `select t.* from unnest((select $2::bytea[])) i(hash)
          cross join lateral (
            select ${COLUMNS}, sha256 from ${s}.tokens t
            where t.tenant_id = $1 and t.sha256 = i.hash and ${s}.sought_by(t.sha256) limit 1
          ) t`,
        values: [tenantId, hashes],
      });
      return rows.map((row) => ({ ...token(row), sha256: row.sha256 }));
    },

    /** The valid tokens of these owners, newest first. */
    async idsOf(
      client: Queryable,
      tenantId: number,
      kind: TokenKind,
      owners: readonly string[],
    ): Promise<{ tokenId: string; owner: string }[]> {
      const { rows } = await client.query({
        name: 'muster_tokens_of_owners',
        text: `${validOf(s)} order by t.token_id desc`,
        values: [tenantId, kind, owners],
      });
      return rows.map((row) => ({ tokenId: row.token_id, owner: row.owner }));
    },

    async invalidOf(
      client: Queryable,
      tokens: readonly { readonly tenantId: number; readonly tokenId: string }[],
    ): Promise<{ tenantId: number; tokenId: string }[]> {
      const { rows } = await client.query({
        text: `select i.tenant_id, i.token_id
          from unnest((select $1::int[]), (select $2::bigint[])) as i(tenant_id, token_id)
          left join lateral (select true as valid from ${s}.tokens t
            where t.tenant_id = i.tenant_id and t.token_id = i.token_id and t.revoked_at is null limit 1) t on true
          where t.valid is null`,
        values: [tokens.map((one) => one.tenantId), tokens.map((one) => one.tokenId)],
      });
      return rows.map((row) => ({ tenantId: row.tenant_id, tokenId: row.token_id }));
    },

    /** Revokes the valid ones. Locked by number, as everywhere, so transactions never deadlock. */
    async revokeOf(
      client: Queryable,
      tenantId: number,
      kind: TokenKind,
      owners: readonly string[],
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `with valid as materialized (${locked(s, validOf(s))})
          update ${s}.tokens t set revoked_at = now() from valid v
          where t.tenant_id = any(array[v.tenant_id]) and t.token_id = v.token_id and t.revoked_at is null returning t.token_id`,
        values: [tenantId, kind, owners],
      });
      return rows.map((row) => row.token_id);
    },

    /** The valid ones of these and of the tokens they replace, locked by number until the transaction ends. */
    async lockValid(
      client: Queryable,
      tenantId: number,
      tokenIds: readonly string[],
    ): Promise<{ tokenId: string; replaces: string | null }[]> {
      const { rows } = await client.query({
        text: `with wanted as materialized (
            select t.* from unnest((select $2::bigint[])) i(token_id)
            cross join lateral (select t.token_id, t.replaces from ${s}.tokens t where t.tenant_id = $1 and t.token_id = i.token_id limit 1) t
          )
          ${locked(s, 'select token_id from wanted union select replaces from wanted')}`,
        values: [tenantId, tokenIds],
      });
      return rows.map((row) => ({ tokenId: row.token_id, replaces: row.replaces }));
    },

    /** Revokes other replacements of the same token: of several rotations the last counts. */
    async revokePassedOver(
      client: Queryable,
      tenantId: number,
      tokenIds: readonly string[],
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `with others as materialized (
            select t.token_id from unnest((select $2::bigint[])) i(token_id)
            cross join lateral (select * from ${s}.tokens n where n.tenant_id = $1 and n.token_id = i.token_id limit 1) n
            cross join lateral (
              select t.token_id from ${s}.tokens t where t.tenant_id = $1 and t.replaces = n.replaces and ${s}.sought_by(t.replaces)
                and t.token_id <> n.token_id offset 0
            ) t
          ), passed as materialized (${locked(s, 'select token_id from others')})
          update ${s}.tokens t set revoked_at = now() from passed p
          where t.tenant_id = any(array[p.tenant_id]) and t.token_id = p.token_id and t.revoked_at is null returning t.token_id`,
        values: [tenantId, tokenIds],
      });
      return rows.map((row) => row.token_id);
    },

    /** Null: unknown. A token revoked before keeps its time. */
    async revoke(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow | null> {
      const { rows } = await client.query({
        text: `update ${s}.tokens t set revoked_at = coalesce(t.revoked_at, n.at) from (select now() as at) n
          where t.tenant_id = $1 and t.token_id = $2 returning ${COLUMNS}`,
        values: [tenantId, tokenId],
      });
      return rows[0] ? token(rows[0]) : null;
    },

    /** Every other token of that origin: a changed setting must not leave its old value valid. */
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

    /**
     * The first use of a token ends the one it replaces. Many come in one statement, so it never waits: if either token
     * is being changed, nothing is marked, and the next use tries again.
     */
    async markFirstUses(
      client: Queryable,
      used: readonly { tenantId: number; tokenId: string }[],
    ): Promise<{ valid: boolean; marked: boolean; ended: string | null }[]> {
      const { rows } = await client.query({
        name: 'muster_first_uses',
        text: `with given as materialized (
            select i.ord, t.*, o.token_id as old
            from unnest((select $1::int[]), (select $2::bigint[])) with ordinality as i(tenant_id, of_token, ord)
            cross join lateral (
              select tenant_id, token_id, replaces from ${s}.tokens t
              where t.tenant_id = i.tenant_id and t.token_id = i.of_token and t.revoked_at is null limit 1
            ) t
            left join lateral (
              select token_id from ${s}.tokens o
              where o.tenant_id = t.tenant_id and o.token_id = t.replaces and o.revoked_at is null limit 1
            ) o on true
          ), locked as materialized (
            select i.tenant_id, i.token_id
            from (select tenant_id, token_id from given union select tenant_id, old from given where old is not null) i
            cross join lateral (
              select 1 from ${s}.tokens t where t.tenant_id = i.tenant_id and t.token_id = i.token_id and t.revoked_at is null limit 1
              for update skip locked
            ) t
          ), free as materialized (
            select g.* from given g join locked l on l.tenant_id = g.tenant_id and l.token_id = g.token_id
            left join locked lo on lo.tenant_id = g.tenant_id and lo.token_id = g.old
            where g.old is null or lo.token_id is not null
          ), used as (
            update ${s}.tokens t set first_used_at = now() from free f
            where t.tenant_id = any(array[f.tenant_id]) and t.token_id = f.token_id and t.first_used_at is null
              -- a token that ends here is changed only once: a second change of a row in one statement is dropped
              and not exists (select 1 from free x where x.tenant_id = f.tenant_id and x.old = f.token_id)
          ), ended as (
            update ${s}.tokens t set revoked_at = now() from free f
            where t.tenant_id = any(array[f.tenant_id]) and t.token_id = f.old returning t.tenant_id, t.token_id
          )
          select g.ord::int, f.ord is not null as marked, e.token_id as ended from given g
          left join free f on f.ord = g.ord
          left join ended e on e.tenant_id = f.tenant_id and e.token_id = f.old`,
        values: [used.map((one) => one.tenantId), used.map((one) => one.tokenId)],
      });
      const answers: { valid: boolean; marked: boolean; ended: string | null }[] = used.map(() => ({
        valid: false,
        marked: false,
        ended: null,
      }));
      for (const row of rows) answers[row.ord - 1] = { valid: true, marked: row.marked, ended: row.ended };
      return answers;
    },

    /** The valid admins, locked until the transaction ends: revocations of admins come one after the other. */
    async lockAdmins(client: Queryable, tenantId: number): Promise<string[]> {
      const { rows } = await client.query({
        text: `select token_id from ${s}.tokens
          where tenant_id = $1 and kind = 'operator' and role = 'admin' and revoked_at is null order by token_id for update`,
        values: [tenantId],
      });
      return rows.map((row) => row.token_id);
    },

    async hasAdmin(client: Queryable, tenantId: number): Promise<boolean> {
      const { rows } = await client.query({
        text: `select exists (select 1 from ${s}.tokens
          where tenant_id = $1 and kind = 'operator' and role = 'admin' and revoked_at is null) as found`,
        values: [tenantId],
      });
      return rows[0].found;
    },
  };
}
