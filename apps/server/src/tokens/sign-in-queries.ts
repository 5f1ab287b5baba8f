import type { Queryable } from '@muster/engine';
import { COLUMNS, type TokenRow, token } from './queries.ts';

export interface SignInRow {
  readonly signInId: string;
  readonly signedInAt: Date;
  readonly endsAt: Date;
  readonly sha256: Buffer;
  /** Valid: a revoked token has no sign-in. */
  readonly token: TokenRow;
}

export function createSignInQueries(s: string) {
  return {
    async insert(
      client: Queryable,
      given: { tenantId: number; tokenId: string; sha256: Buffer; signedInAt: Date; endsAt: Date },
    ): Promise<string> {
      const { rows } = await client.query({
        text: `insert into ${s}.sign_ins (tenant_id, token_id, sha256, signed_in_at, ends_at) values ($1, $2, $3, $4, $5)
          returning sign_in_id`,
        values: [given.tenantId, given.tokenId, given.sha256, given.signedInAt, given.endsAt],
      });
      return rows[0].sign_in_id;
    },

    /** Ends all but the newest of a token; returns the ended ones. */
    async endOldest(client: Queryable, tenantId: number, tokenId: string, keep: number): Promise<string[]> {
      const { rows } = await client.query({
        text: `delete from ${s}.sign_ins where tenant_id = $1 and sign_in_id = any(array(
            select sign_in_id from ${s}.sign_ins where tenant_id = $1 and token_id = $2 and ${s}.sought_by(token_id)
            order by sign_in_id desc offset $3)) returning sign_in_id`,
        values: [tenantId, tokenId, keep],
      });
      return rows.map((row) => row.sign_in_id);
    },

    async find(
      client: Queryable,
      { tenantId, sha256 }: { tenantId: number; sha256: Buffer },
      now: Date,
    ): Promise<SignInRow | null> {
      const { rows } = await client.query({
        name: 'muster_find_sign_in',
        text: `select i.sign_in_id, i.signed_in_at, i.ends_at, i.sha256 as sign_in_sha256, t.* from ${s}.sign_ins i
          cross join lateral (
            select ${COLUMNS} from ${s}.tokens t
            where t.tenant_id = i.tenant_id and t.token_id = i.token_id and t.revoked_at is null limit 1
          ) t
          where i.tenant_id = $1 and i.sha256 = $2 and ${s}.sought_by(i.sha256) and i.ends_at > $3`,
        values: [tenantId, sha256, now],
      });
      const [row] = rows;
      return row
        ? {
            signInId: row.sign_in_id,
            signedInAt: row.signed_in_at,
            endsAt: row.ends_at,
            sha256: row.sign_in_sha256,
            token: token(row),
          }
        : null;
    },

    async remove(client: Queryable, tenantId: number, signInId: string): Promise<void> {
      await client.query({
        text: `delete from ${s}.sign_ins where tenant_id = $1 and sign_in_id = $2`,
        values: [tenantId, signInId],
      });
    },

    async prune(client: Queryable, now: Date, most: number): Promise<number> {
      const { rows } = await client.query({
        text: `with old as (
            delete from ${s}.sign_ins where (tenant_id, sign_in_id) in (
              select tenant_id, sign_in_id from ${s}.sign_ins where ends_at <= $1 order by ends_at limit $2)
            returning 1
          ) select count(*)::int as n from old`,
        values: [now, most],
      });
      return rows[0].n;
    },
  };
}
