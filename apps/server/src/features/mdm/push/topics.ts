import type { Queryable } from '@muster/engine';

/** A tenant as APNs knows it. */
export interface Topic {
  readonly tenantId: number;
  readonly topic: string;
  readonly certificate: string | null;
  readonly sealedKey: Buffer | null;
  readonly changedAt: Date;
  readonly stopReason: string | null;
  readonly warnedDays: number | null;
  readonly warnedOf: Date | null;
}

export type Topics = ReturnType<typeof createTopics>;

/** The topics of tenants: their certificates, and what is wrong with them. */
export function createTopics(s: string, now: () => Date) {
  const NOW = '$1::timestamptz';
  const COLUMNS =
    'tenant_id, topic, certificate, sealed_key, changed_at, stop_reason, warned_days, warned_of';
  // biome-ignore lint/suspicious/noExplicitAny: a row of the statements below
  const topicOf = (row: any): Topic => ({
    tenantId: row.tenant_id,
    topic: row.topic,
    certificate: row.certificate,
    sealedKey: row.sealed_key,
    changedAt: row.changed_at,
    stopReason: row.stop_reason,
    warnedDays: row.warned_days,
    warnedOf: row.warned_of,
  });

  return {
    async ensure(client: Queryable, tenantId: number, topic: string): Promise<void> {
      await client.query({
        text: `insert into ${s}.push_topics (changed_at, tenant_id, topic) values (${NOW}, $2, $3) on conflict do nothing`,
        values: [now(), tenantId, topic],
      });
    },

    async get(client: Queryable, tenantId: number, topic: string): Promise<Topic | null> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.push_topics where tenant_id = $1 and topic = $2`,
        values: [tenantId, topic],
      });
      return rows[0] ? topicOf(rows[0]) : null;
    },

    /** Of all tenants: there are as many as certificates. */
    async list(client: Queryable): Promise<Topic[]> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.push_topics order by tenant_id, topic`,
      });
      return rows.map(topicOf);
    },

    async ofTenant(client: Queryable, tenantId: number): Promise<Topic[]> {
      const { rows } = await client.query({
        text: `select ${COLUMNS} from ${s}.push_topics where tenant_id = $1 order by topic`,
        values: [tenantId],
      });
      return rows.map(topicOf);
    },

    /** The topic of the newest certificate. */
    async newest(client: Queryable, tenantId: number): Promise<string | null> {
      const { rows } = await client.query({
        text: `select topic from ${s}.push_topics where tenant_id = $1 and certificate is not null order by changed_at desc, topic limit 1`,
        values: [tenantId],
      });
      return rows[0]?.topic ?? null;
    },

    /** How many enrolled phones of the tenant have another topic. */
    async othersOfPhones(client: Queryable, tenantId: number, topic: string): Promise<number> {
      const { rows } = await client.query({
        text: `select count(*)::int as others from ${s}.mdm_devices where tenant_id = $1 and topic <> $2 and released_at is null`,
        values: [tenantId, topic],
      });
      return rows[0].others;
    },

    /** A new certificate: problems of the old one are over. */
    async put(
      tx: Queryable,
      {
        tenantId,
        topic,
        certificate,
        sealedKey,
      }: Pick<Topic, 'tenantId' | 'topic' | 'certificate' | 'sealedKey'>,
    ): Promise<void> {
      await tx.query({
        text: `insert into ${s}.push_topics (changed_at, tenant_id, topic, certificate, sealed_key) values (${NOW}, $2, $3, $4, $5)
          on conflict (tenant_id, topic) do update set certificate = excluded.certificate, sealed_key = excluded.sealed_key,
            changed_at = excluded.changed_at, stopped_until = null, stop_reason = null, warned_days = null, warned_of = null`,
        values: [now(), tenantId, topic, certificate, sealedKey],
      });
    },

    /**
     * Nothing more is sent until then. `new`: it was not stopped before, so an alert is needed. `outdated`: the
     * certificate was changed since, and nothing is stopped.
     */
    async stop(
      tx: Queryable,
      { tenantId, topic, changedAt }: Pick<Topic, 'tenantId' | 'topic' | 'changedAt'>,
      reason: string,
      until: Date,
    ): Promise<'new' | 'known' | 'outdated'> {
      const { rows } = await tx.query({
        text: `with before as (
            select stop_reason from ${s}.push_topics where tenant_id = $1 and topic = $2 and changed_at = $5 for update
          )
          update ${s}.push_topics t set stop_reason = $3, stopped_until = $4 from before
          where t.tenant_id = $1 and t.topic = $2 returning before.stop_reason is distinct from $3 as is_new`,
        values: [tenantId, topic, reason, until, changedAt],
      });
      if (!rows[0]) return 'outdated';
      return rows[0].is_new ? 'new' : 'known';
    },

    /** The right to send the one push that tries whether it works again; no other node gets it before `until`. */
    async mayTry(client: Queryable, tenantId: number, topic: string, until: Date): Promise<boolean> {
      const { rows } = await client.query({
        text: `update ${s}.push_topics set stopped_until = $4 where tenant_id = $2 and topic = $3 and stop_reason is not null
          and stopped_until <= ${NOW} returning 1`,
        values: [now(), tenantId, topic, until],
      });
      return rows.length > 0;
    },

    async resume(client: Queryable, tenantId: number, topic: string): Promise<void> {
      await client.query({
        text: `update ${s}.push_topics set stopped_until = null, stop_reason = null where tenant_id = $1 and topic = $2`,
        values: [tenantId, topic],
      });
    },

    /** An operator wants to know now, not after five minutes. */
    async tryNow(client: Queryable, tenantId: number): Promise<void> {
      await client.query({
        text: `update ${s}.push_topics set stopped_until = ${NOW} where tenant_id = $2 and stop_reason is not null`,
        values: [now(), tenantId],
      });
    },

    /** True for one node: once per certificate and number of days. */
    async warn(tx: Queryable, { tenantId, topic }: Topic, days: number, of: Date): Promise<boolean> {
      const { rows } = await tx.query({
        text: `update ${s}.push_topics set warned_days = $3, warned_of = $4 where tenant_id = $1 and topic = $2
          and (warned_of is distinct from $4 or warned_days > $3) returning 1`,
        values: [tenantId, topic, days, of],
      });
      return rows.length > 0;
    },
  };
}
