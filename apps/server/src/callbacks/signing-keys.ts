import { createHash, randomBytes } from 'node:crypto';
import type { Queryable } from '@muster/engine';
import { jwtVerify, SignJWT } from 'jose';
import type { Secrets } from '../secrets/secrets.ts';

/** Callbacks are signed with the current key; a receiver also knows the next one, so keys change without a gap. */
export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/**
 * `own` signs calls of this server to itself. It is not derived from anything that receivers get, and is never shown.
 */
export interface TenantKeys extends SigningKeys {
  readonly own: string;
}

export interface Signed {
  readonly url: string;
  readonly body: Buffer;
  readonly messageId: string;
  readonly at: Date;
}

/** As in QStash: a request received later than this is too old. */
const VALID_SECONDS = 300;
const ISSUER = 'Upstash';
const CLOCK_TOLERANCE_SECONDS = 60;

const secretOf = (key: string) => new TextEncoder().encode(key);
const seconds = (at: Date) => Math.floor(at.getTime() / 1_000);
const hashOf = (body: Buffer) => createHash('sha256').update(body).digest('base64url');

/** The value of Upstash-Signature. */
export function sign(key: string, { url, body, messageId, at }: Signed): Promise<string> {
  return new SignJWT({ body: hashOf(body) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setSubject(url)
    .setJti(`jwt_${messageId}`)
    .setIssuedAt(seconds(at))
    .setNotBefore(seconds(at))
    .setExpirationTime(seconds(at) + VALID_SECONDS)
    .sign(secretOf(key));
}

/** Whether one of these keys has signed this body for this address, and not too long ago. */
export async function isSignedBy(
  keys: readonly string[],
  { signature, body, isFor, at }: { signature: string; body: Buffer; isFor: (url: URL) => boolean; at: Date },
): Promise<boolean> {
  for (const key of keys)
    try {
      const { payload } = await jwtVerify(signature, secretOf(key), {
        algorithms: ['HS256'],
        issuer: ISSUER,
        currentDate: at,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp', 'nbf', 'body'],
      });
      const said = String(payload.body).replace(/=+$/, '');
      const subject = String(payload.sub);
      return said === hashOf(body) && URL.canParse(subject) && isFor(new URL(subject));
    } catch {
      // the other key may have signed it
    }
  return false;
}

/** A tenant's keys, sealed in the database and made on first use. */
export function createSigningKeys(s: string, secrets: Secrets) {
  const purposeOf = (tenantId: number) => `callback-key:${tenantId}`;
  const seal = (tenantId: number, key: string) => secrets.seal(key, purposeOf(tenantId));
  const make = () => `sig_${randomBytes(32).toString('base64url')}`;

  function opened(tenantId: number, row: Record<'current_key' | 'next_key' | 'own_key', Buffer>): TenantKeys {
    const open = (sealed: Buffer) => secrets.open(sealed, purposeOf(tenantId)).toString('utf8');
    return { current: open(row.current_key), next: open(row.next_key), own: open(row.own_key) };
  }

  /** Read with every delivery, so a change takes effect at once on every node. */
  async function find(client: Queryable, tenantId: number): Promise<TenantKeys | null> {
    const { rows } = await client.query({
      name: 'muster_callback_keys',
      text: `select current_key, next_key, own_key from ${s}.callback_keys where tenant_id = $1`,
      values: [tenantId],
    });
    return rows[0] ? opened(tenantId, rows[0]) : null;
  }

  async function ensure(client: Queryable, tenantId: number): Promise<TenantKeys> {
    const known = await find(client, tenantId);
    if (known) return known;
    await client.query({
      text: `insert into ${s}.callback_keys (tenant_id, current_key, next_key, own_key) values ($1, $2, $3, $4) on conflict do nothing`,
      values: [tenantId, seal(tenantId, make()), seal(tenantId, make()), seal(tenantId, make())],
    });
    return (await find(client, tenantId)) as TenantKeys;
  }

  return {
    find,
    ensure,
    /** The next key signs from now on; the server's own key is not known to receivers, and stays. */
    async rotate(client: Queryable, tenantId: number): Promise<TenantKeys> {
      await ensure(client, tenantId);
      const { rows } = await client.query({
        text: `update ${s}.callback_keys set current_key = next_key, next_key = $2 where tenant_id = $1
          returning current_key, next_key, own_key`,
        values: [tenantId, seal(tenantId, make())],
      });
      return opened(tenantId, rows[0]);
    },
  };
}
