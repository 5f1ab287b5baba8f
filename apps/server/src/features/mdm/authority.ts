import type { Database } from '@muster/engine';
import { type Authority, createAuthority, loadAuthority } from '@muster/mdm';
import type { Secrets } from '../../secrets/secrets.ts';
import { DEFAULT_TENANT } from '../../tenants/default-tenant.ts';

const PURPOSE = 'mdm-authority';

/**
 * The certificate authority of this installation. The first node that needs it makes and stores it; all others use the
 * stored one. Its key is sealed.
 */
export function createOwnAuthority(db: Database, s: string, tools: { now: () => Date; secrets: Secrets }) {
  const { now, secrets } = tools;
  let known: Promise<Authority> | undefined;

  async function stored(): Promise<Authority | null> {
    const { rows } = await db.query({
      text: `select certificate, sealed_key from ${s}.mdm_authorities where tenant_id = $1`,
      values: [DEFAULT_TENANT],
    });
    if (!rows[0]) return null;
    const { certificate, sealed_key: sealed } = rows[0];
    return loadAuthority({ certificate, key: secrets.open(sealed, PURPOSE).toString('utf8') });
  }

  async function make(): Promise<Authority> {
    const found = await stored();
    if (found) return found;
    const made = await createAuthority({ commonName: 'Muster device authority', now: now() });
    await db.query({
      text: `insert into ${s}.mdm_authorities (tenant_id, certificate, sealed_key, created_at) values ($1, $2, $3, $4)
        on conflict do nothing`,
      values: [DEFAULT_TENANT, made.certificate, secrets.seal(made.key, PURPOSE), now()],
    });
    return (await stored()) as Authority;
  }

  return {
    get(): Promise<Authority> {
      known ??= make().catch((error) => {
        known = undefined; // the next call tries again
        throw error;
      });
      return known;
    },
    /** Null: not needed yet. */
    peek: async (): Promise<Authority | null> => known ?? stored(),
  };
}

export type OwnAuthority = ReturnType<typeof createOwnAuthority>;
