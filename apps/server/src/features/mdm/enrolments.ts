import { randomBytes } from 'node:crypto';
import type { Queryable } from '@muster/engine';
import type { Secrets } from '../../secrets/secrets.ts';

/** The enrolment that a profile was made for. */
export interface EnrolmentRow {
  readonly enrolmentId: string;
  readonly deviceId: string;
  /** The phone that has used it. */
  readonly udid: string | null;
}

const purposeOf = (tenantId: number, enrolmentId: string) => `scep-challenge:${tenantId}:${enrolmentId}`;

/**
 * Enrolments. The id carries the tenant: all tenants share one authority, which knows nothing of a phone but the name
 * in its request.
 */
export function createEnrolments(s: string, { now, secrets }: { now: () => Date; secrets: Secrets }) {
  const row = (found: { enrolment_id: string; device_id: string; udid: string | null }): EnrolmentRow => ({
    enrolmentId: found.enrolment_id,
    deviceId: found.device_id,
    udid: found.udid,
  });

  return {
    /** The same enrolment each time for the same token. */
    async ensure(client: Queryable, of: { tenantId: number; tokenId: string; deviceId: string }) {
      const { tenantId, tokenId, deviceId } = of;
      const id = `${tenantId}-${randomBytes(18).toString('base64url')}`;
      const sealed = secrets.seal(randomBytes(24).toString('base64url'), purposeOf(tenantId, id));
      await client.query({
        text: `insert into ${s}.mdm_enrolments (tenant_id, enrolment_id, token_id, device_id, sealed_challenge, created_at)
          values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id, token_id) where ${s}.sought_by(token_id) do nothing`,
        values: [tenantId, id, tokenId, deviceId, sealed, now()],
      });
      const { rows } = await client.query({
        text: `select enrolment_id, device_id, udid, sealed_challenge from ${s}.mdm_enrolments
          where tenant_id = $1 and token_id = $2 and ${s}.sought_by(token_id)`,
        values: [tenantId, tokenId],
      });
      const enrolment = row(rows[0]);
      const challenge = secrets.open(rows[0].sealed_challenge, purposeOf(tenantId, enrolment.enrolmentId));
      return { ...enrolment, challenge: challenge.toString('utf8') };
    },

    /** An enrolment that no phone has used ends with its token. */
    async find(client: Queryable, tenantId: number, enrolmentId: string): Promise<EnrolmentRow | null> {
      const { rows } = await client.query({
        text: `select e.enrolment_id, e.device_id, e.udid from ${s}.mdm_enrolments e
          where e.tenant_id = $1 and e.enrolment_id = $2 and (e.udid is not null or exists (
            select 1 from ${s}.tokens t where t.tenant_id = e.tenant_id and t.token_id = e.token_id and t.revoked_at is null))`,
        values: [tenantId, enrolmentId],
      });
      return rows[0] ? row(rows[0]) : null;
    },

    /** Whether this key may get a certificate for it. The first key that comes with the secret may, repeatedly. */
    async useChallenge(client: Queryable, enrolmentId: string, challenge: string, keyHash: string) {
      const tenantId = tenantOf(enrolmentId);
      if (tenantId === null) return false;
      const { rows } = await client.query({
        text: `select sealed_challenge from ${s}.mdm_enrolments where tenant_id = $1 and enrolment_id = $2`,
        values: [tenantId, enrolmentId],
      });
      if (!rows[0]) return false;
      const right = secrets.open(rows[0].sealed_challenge, purposeOf(tenantId, enrolmentId));
      // a secret of 192 bits that works once: the time of a comparison reveals nothing useful
      if (right.toString('utf8') !== challenge) return false;
      const { rows: used } = await client.query({
        text: `update ${s}.mdm_enrolments set challenge_key = $3
          where tenant_id = $1 and enrolment_id = $2 and (challenge_key is null or challenge_key = $3) returning 1`,
        values: [tenantId, enrolmentId, keyHash],
      });
      return used.length > 0;
    },

    /** Whether the owner of this certificate may get the next one with its name. */
    async mayRenew(client: Queryable, enrolmentId: string, hash: string): Promise<boolean> {
      const tenantId = tenantOf(enrolmentId);
      if (tenantId === null) return false;
      const { rows } = await client.query({
        text: `select 1 from ${s}.mdm_certificates c
          join ${s}.mdm_devices d on d.tenant_id = c.tenant_id and d.udid = c.udid
          where c.tenant_id = $1 and c.hash = $2 and d.enrolment_id = $3 and d.released_at is null`,
        values: [tenantId, hash, enrolmentId],
      });
      return rows.length > 0;
    },

    async used(tx: Queryable, tenantId: number, enrolmentId: string, udid: string): Promise<void> {
      await tx.query({
        text: `update ${s}.mdm_enrolments set udid = $3, authenticated_at = $4 where tenant_id = $1 and enrolment_id = $2`,
        values: [tenantId, enrolmentId, udid, now()],
      });
    },
  };
}

export type Enrolments = ReturnType<typeof createEnrolments>;

/** Whether it has the form of an id: the tenant, and 18 random bytes. Our own authority issues no other names. */
export const isEnrolmentId = (name: string) => /^[1-9]\d{0,9}-[\w-]{24}$/.test(name);

function tenantOf(enrolmentId: string): number | null {
  const tenant = /^([1-9]\d{0,9})-/.exec(enrolmentId)?.[1];
  const tenantId = Number(tenant);
  return tenant !== undefined && tenantId <= 2_147_483_647 ? tenantId : null;
}
