import type { Queryable } from '@muster/engine';
import type { Identity } from '@muster/mdm';

/** A phone as it is stored. */
export interface PhoneRow {
  readonly udid: string;
  readonly deviceId: string;
  readonly laneId: string;
  readonly enrolmentId: string;
  readonly byod: boolean;
  readonly topic: string;
  readonly serial: string | null;
  readonly facts: Readonly<Record<string, string | null>>;
  readonly sealedUnlockToken: Buffer | null;
  readonly sealedBootstrapToken: Buffer | null;
  readonly authenticatedAt: Date;
  readonly enrolledAt: Date | null;
  readonly tokenUpdatedAt: Date | null;
  readonly releasedAt: Date | null;
  /** When it was last told to erase itself; null: not since it authenticated, or it has refused. */
  readonly erasedAt: Date | null;
  /** The generation of its lane that it waits for; null: it may have what is there. */
  readonly awaitedGeneration: number | null;
}

/** What changes of a phone; undefined fields stay. */
export interface PhoneChange {
  readonly sealedUnlockToken?: Buffer | null;
  readonly sealedBootstrapToken?: Buffer | null;
  readonly enrolledAt?: Date | null;
  readonly tokenUpdatedAt?: Date | null;
  readonly releasedAt?: Date | null;
  readonly topic?: string;
}

const COLUMNS: Record<keyof PhoneChange, string> = {
  sealedUnlockToken: 'sealed_unlock_token',
  sealedBootstrapToken: 'sealed_bootstrap_token',
  enrolledAt: 'enrolled_at',
  tokenUpdatedAt: 'token_updated_at',
  releasedAt: 'released_at',
  topic: 'topic',
};

/** Phones and their certificates. Every change locks the phone's row first. */
export function createPhones(s: string, now: () => Date) {
  // biome-ignore lint/suspicious/noExplicitAny: a row of the statements below
  const phone = (row: any): PhoneRow => ({
    udid: row.udid,
    deviceId: row.device_id,
    laneId: row.lane_id,
    enrolmentId: row.enrolment_id,
    byod: row.byod,
    topic: row.topic,
    serial: row.serial,
    facts: row.facts,
    sealedUnlockToken: row.sealed_unlock_token,
    sealedBootstrapToken: row.sealed_bootstrap_token,
    authenticatedAt: row.authenticated_at,
    enrolledAt: row.enrolled_at,
    tokenUpdatedAt: row.token_updated_at,
    releasedAt: row.released_at,
    erasedAt: row.erased_at,
    awaitedGeneration: row.awaited_generation,
  });

  return {
    async ofDevice(client: Queryable, tenantId: number, deviceId: string): Promise<PhoneRow | null> {
      const { rows } = await client.query({
        text: `select * from ${s}.mdm_devices where tenant_id = $1 and device_id = $2 and ${s}.sought_by(device_id)`,
        values: [tenantId, deviceId],
      });
      return rows[0] ? phone(rows[0]) : null;
    },

    async lock(tx: Queryable, tenantId: number, udid: string): Promise<PhoneRow | null> {
      const { rows } = await tx.query({
        text: `select * from ${s}.mdm_devices where tenant_id = $1 and udid = $2 for update`,
        values: [tenantId, udid],
      });
      return rows[0] ? phone(rows[0]) : null;
    },

    /** Those of these that are phones of ours. */
    async known(tx: Queryable, tenantId: number, udids: readonly string[]): Promise<Map<string, PhoneRow>> {
      const { rows } = await tx.query({
        name: 'muster_mdm_known_phones',
        text: `select d.* from unnest((select $2::text[])) i(udid)
          cross join lateral (select * from ${s}.mdm_devices d where d.tenant_id = $1 and d.udid = i.udid limit 1) d`,
        values: [tenantId, udids],
      });
      return new Map(rows.map((row) => [row.udid, phone(row)]));
    },

    /** The phone with this certificate; null: none yet. */
    async ownerOf(client: Queryable, tenantId: number, hash: string): Promise<string | null> {
      const { rows } = await client.query({
        text: `select udid from ${s}.mdm_certificates where tenant_id = $1 and hash = $2`,
        values: [tenantId, hash],
      });
      return rows[0]?.udid ?? null;
    },

    /** False: another phone was faster with the same certificate. */
    async pin(
      tx: Queryable,
      tenantId: number,
      udid: string,
      { certificate, hash }: Identity,
    ): Promise<boolean> {
      const { rows } = await tx.query({
        text: `insert into ${s}.mdm_certificates as c (tenant_id, hash, udid, pinned_at, not_after) values ($1, $2, $3, $4, $5)
          on conflict (tenant_id, hash) do update set pinned_at = c.pinned_at returning udid`,
        values: [tenantId, hash, udid, now(), new Date(certificate.validTo)],
      });
      return rows[0].udid === udid;
    },

    /** Inserts or updates a phone from its Authenticate; a serial number that it does not send stays. */
    async put(
      tx: Queryable,
      tenantId: number,
      given: Pick<
        PhoneRow,
        'udid' | 'deviceId' | 'laneId' | 'enrolmentId' | 'byod' | 'topic' | 'serial' | 'facts'
      >,
    ): Promise<void> {
      await tx.query({
        text: `insert into ${s}.mdm_devices as d (tenant_id, udid, device_id, lane_id, enrolment_id, byod, topic, serial, facts, authenticated_at)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
          on conflict (tenant_id, udid) do update set device_id = excluded.device_id, lane_id = excluded.lane_id,
            enrolment_id = excluded.enrolment_id, byod = excluded.byod, topic = excluded.topic, serial = coalesce(excluded.serial, d.serial),
            facts = excluded.facts, authenticated_at = excluded.authenticated_at, token_updated_at = null,
            erased_at = null, refusals = 0, call_after = null,
            -- the generation of another lane means nothing for this one
            awaited_generation = case when d.lane_id = excluded.lane_id then d.awaited_generation end`,
        values: [
          ...[tenantId, given.udid, given.deviceId, given.laneId, given.enrolmentId, given.byod, given.topic],
          ...[given.serial, JSON.stringify(given.facts), now()],
        ],
      });
    },

    async change(tx: Queryable, tenantId: number, udid: string, change: PhoneChange): Promise<void> {
      const keys = (Object.keys(change) as (keyof PhoneChange)[]).filter((key) => change[key] !== undefined);
      if (keys.length === 0) return;
      await tx.query({
        text: `update ${s}.mdm_devices set ${keys.map((key, n) => `${COLUMNS[key]} = $${n + 3}`).join(', ')}
          where tenant_id = $1 and udid = $2`,
        values: [tenantId, udid, ...keys.map((key) => change[key])],
      });
    },

    /** One more than the generation it already waits for, or than its lane has. */
    async awaitNext(tx: Queryable, tenantId: number, udid: string, generation: number): Promise<void> {
      await tx.query({
        text: `update ${s}.mdm_devices set awaited_generation = greatest(awaited_generation, $3) + 1 where tenant_id = $1 and udid = $2`,
        values: [tenantId, udid, generation],
      });
    },

    /** Unless another life has begun meanwhile. */
    async endAwaiting(client: Queryable, tenantId: number, udid: string, generation: number): Promise<void> {
      await client.query({
        text: `update ${s}.mdm_devices set awaited_generation = null where tenant_id = $1 and udid = $2 and awaited_generation = $3`,
        values: [tenantId, udid, generation],
      });
    },

    /** Something waits for it that it cannot have now. */
    async watch(client: Queryable, tenantId: number, udid: string): Promise<void> {
      await client.query({
        text: `update ${s}.mdm_devices set watched_at = $3 where tenant_id = $1 and udid = $2 and watched_at is null`,
        values: [tenantId, udid, now()],
      });
    },

    /** With its certificates: from now on it is unknown. */
    async forget(tx: Queryable, tenantId: number, udid: string): Promise<void> {
      const values = [tenantId, udid];
      await tx.query({
        text: `delete from ${s}.mdm_certificates where tenant_id = $1 and udid = $2 and ${s}.sought_by(udid)`,
        values,
      });
      await tx.query({ text: `delete from ${s}.mdm_commands where tenant_id = $1 and udid = $2`, values });
      await tx.query({ text: `delete from ${s}.mdm_devices where tenant_id = $1 and udid = $2`, values });
    },
  };
}

export type Phones = ReturnType<typeof createPhones>;
