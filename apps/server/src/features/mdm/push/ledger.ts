import { byTenant, type Database, ofOne, type Queryable } from '@muster/engine';
import { laterBy } from '../../../database/later-by.ts';
import type { DeadReason, PushToken } from './pushes.ts';

/** A push that is due, with what it needs. */
export interface Due {
  readonly tenantId: string;
  readonly deviceId: string;
  readonly topic: string;
  readonly dueAt: number;
  readonly pushes: number;
  /** Its topic is stopped: this push would be the one to try. */
  readonly isStopped: boolean;
}

/** A push that this node has taken to send. */
export interface Taken {
  readonly tenantId: number;
  readonly deviceId: string;
  readonly topic: string;
  readonly turn: string;
  readonly pushes: number;
  readonly failures: number;
  readonly token: Buffer;
  readonly magic: string;
}

/** What is stored when a push has ended and the device is still wanted. */
export interface Settled extends Pick<Taken, 'tenantId' | 'deviceId' | 'turn'> {
  readonly isAccepted: boolean;
  readonly failures: number;
  readonly dueAt: Date;
}

/** Wants within this time share one push: APNs has it, and stores only one. */
const COALESCED = `interval '30 seconds'`;
/** Longer than a push can take: a node that has not stored the outcome by then is dead. */
const TURN_MS = 120_000;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * Which devices to wake up, and by which token. A row is taken by moving its due time, under a number that only the
 * taker knows: the rows of a dead node become due again by themselves, and the worst case is a second push.
 */
export function createLedger(s: string, now: () => Date, db: Pick<Database, 'isDistributed'>) {
  const NOW = '$1::timestamptz';
  /** For a topic `t`, the longest due first, in the order of the index. */
  const dueOf = (isRepeat: boolean, most: string) => `(
    select l.device_id, l.due_at, l.pushes from ${s}.push_ledger l
    where l.tenant_id = t.tenant_id and l.topic = t.topic and l.is_repeat = ${isRepeat}
      and l.due_at is not null and ${s}.sought_by(l.due_at) and l.due_at <= ${NOW}
    order by l.due_at limit ${most})`;
  const goingTopics = `${s}.push_topics t cross join lateral`;
  const isGoing = `(t.stopped_until is null or t.stopped_until <= ${NOW})`;

  /**
   * Of the locked row. A distributed database takes numbers before it locks, so a larger one may be there already.
   */
  const raised = db.isDistributed ? 'greatest(l.want + 1, excluded.want)' : `nextval('${s}.push_seq')`;

  /** All at once; on a distributed database those of each tenant. */
  async function ofEach<Item extends { readonly tenantId: number }, Found>(
    client: Queryable,
    items: readonly Item[],
    run: (client: Queryable, some: readonly Item[]) => Promise<readonly Found[]>,
  ): Promise<Found[]> {
    const found: Found[] = [];
    for (const some of byTenant(db, items))
      found.push(...(await run(ofOne(db, client, some[0]?.tenantId ?? 0), some)));
    return found;
  }

  async function tenantsWithDue(client: Queryable): Promise<number[]> {
    const { rows } = await client.query({
      text: `select distinct t.tenant_id from ${s}.push_topics t
        join ${s}.push_ledger l on l.tenant_id = t.tenant_id and l.topic = t.topic and l.is_repeat = any ('{false, true}')
        where l.due_at is not null and ${s}.sought_by(l.due_at) and l.due_at <= ${NOW} and ${isGoing}`,
      values: [now()],
    });
    return rows.map((row) => row.tenant_id);
  }

  async function readDue(client: Queryable, tenants: readonly number[] | null, most: number): Promise<Due[]> {
    const some = 'case when t.stop_reason is null then $3::int else 1 end';
    const { rows } = await client.query({
      name: 'muster_push_due',
      text: `select t.tenant_id, t.topic, t.stop_reason is not null as is_stopped, l.device_id, l.due_at, l.pushes
        from ${goingTopics} (${dueOf(false, some)} union all ${dueOf(true, some)}) l
        where ($2::int[] is null or t.tenant_id = any ($2)) and ${isGoing}`,
      values: [now(), tenants, most],
    });
    return rows.map((row) => ({
      tenantId: String(row.tenant_id),
      deviceId: row.device_id,
      topic: row.topic,
      dueAt: row.due_at.getTime(),
      pushes: row.pushes,
      isStopped: row.is_stopped,
    }));
  }

  return {
    /** In SQL, for a duty: whether anything is due. */
    isAnyDue: `exists (select 1 from ${goingTopics} (${dueOf(false, '1')} union all ${dueOf(true, '1')}) l where ${isGoing})`,

    async tokenIs(tx: Queryable, tenantId: number, deviceId: string, { token, magic, topic }: PushToken) {
      await tx.query({
        text: `insert into ${s}.push_topics (changed_at, tenant_id, topic) values (${NOW}, $2, $3) on conflict do nothing`,
        values: [now(), tenantId, topic],
      });
      const { rows } = await tx.query({
        // `before` is the old row; of two concurrent TokenUpdates of a device both are new at worst, and cause one push
        text: `with before as materialized (
            select dead_at, token, magic from ${s}.push_tokens where tenant_id = $2 and device_id = $3 and app = 'mdm'
          ), put as (
            insert into ${s}.push_tokens (updated_at, tenant_id, device_id, app, token, magic, topic) values (${NOW}, $2, $3, 'mdm', $4, $5, $6)
            on conflict (tenant_id, device_id, app) do update set updated_at = excluded.updated_at, token = excluded.token,
              magic = excluded.magic, topic = excluded.topic, dead_at = null, dead_reason = null
          )
          select exists (select 1 from before where dead_at is null) as was_alive,
            exists (select 1 from before b where b.token = $4 and b.magic = $5) as is_same`,
        values: [now(), tenantId, deviceId, Buffer.from(token), magic, topic],
      });
      const { is_same: isSame, was_alive: wasAlive } = rows[0];
      // A row is inserted for a new token, not only looked for, so a concurrent want finds it. What was pushed to
      // another token may not have arrived, so pushes on their way to it do not count.
      await tx.query({
        text: wasAlive
          ? `update ${s}.push_ledger set topic = $4, due_at = least(due_at, ${NOW}), turn = null
              where tenant_id = $2 and device_id = $3 and (due_at is null or topic is distinct from $4 or not $5::boolean)`
          : `insert into ${s}.push_ledger as l (due_at, tenant_id, device_id, topic) values (${NOW}, $2, $3, $4)
              on conflict (tenant_id, device_id) do update set topic = excluded.topic, due_at = excluded.due_at, turn = null,
                pushes = 0, failures = 0, pushed_at = null`,
        values: [now(), tenantId, deviceId, topic, ...(wasAlive ? [isSame] : [])],
      });
    },

    async want(tx: Queryable, tenantId: number, deviceIds: readonly string[]) {
      await tx.query({
        name: 'muster_push_want',
        // The token is locked, so it is not buried or renewed before the commit. In order, so two transactions never
        // deadlock.
        text: `insert into ${s}.push_ledger as l (tenant_id, device_id, topic, due_at)
          select $2, i.device_id, case when t.dead_at is null then t.topic end, case when t.dead_at is null and t.topic is not null then ${NOW} end
          from (select distinct i.device_id from unnest($3::bigint[]) i(device_id) order by 1) i
          left join lateral (
            select t.topic, t.dead_at from ${s}.push_tokens t
            where t.tenant_id = $2 and t.device_id = i.device_id and t.app = 'mdm' limit 1 for share
          ) t on true
          order by i.device_id
          on conflict (tenant_id, device_id) do update set want = ${raised},
            due_at = case when l.turn is null and l.failures = 0 and l.due_at is not null
              then least(l.due_at, greatest(excluded.due_at, ${laterBy('l.pushed_at', COALESCED)})) else l.due_at end`,
        values: [now(), tenantId, deviceIds],
      });
    },

    /**
     * A device that is wanted again since the look that `want` is from is pushed to at once: it may have gone already,
     * and a push on its way may be the one it came for. Returns the tenants with due pushes. Decided on the locked
     * rows: a concurrent transaction may want a device while this one waits for its commit.
     */
    async seen(
      client: Queryable,
      devices: readonly { tenantId: number; deviceId: string; want: string | null }[],
    ): Promise<number[]> {
      const rows = await ofEach(client, devices, async (own, some) => {
        const found = await own.query({
          name: 'muster_push_seen',
          text: `with seen as materialized (
            select i.tenant_id, i.device_id, l.want > i.want is true as is_wanted
            from (
              select i.tenant_id, i.device_id, max(i.want) as want
              from unnest($2::int[], $3::bigint[], $4::bigint[]) i(tenant_id, device_id, want) group by 1, 2 order by 1, 2
            ) i
            cross join lateral (
              select l.want from ${s}.push_ledger l where l.tenant_id = i.tenant_id and l.device_id = i.device_id limit 1 for update
            ) l
          ), gone as (
            delete from ${s}.push_ledger l using seen where l.tenant_id = seen.tenant_id and l.device_id = seen.device_id and not is_wanted
          )
          update ${s}.push_ledger l set pushes = 0, failures = 0, pushed_at = null, turn = null,
            due_at = case when l.due_at is not null then ${NOW} end
          from seen where l.tenant_id = seen.tenant_id and l.device_id = seen.device_id and is_wanted
          returning l.tenant_id`,
          values: [
            now(),
            some.map(({ tenantId }) => tenantId),
            some.map(({ deviceId }) => deviceId),
            some.map(({ want }) => want),
          ],
        });
        return found.rows;
      });
      return [...new Set(rows.map((row) => row.tenant_id as number))];
    },

    async forget(tx: Queryable, tenantId: number, deviceId: string, what: 'mdm' | 'all') {
      await tx.query({
        text: `with gone as (delete from ${s}.push_ledger where tenant_id = $1 and device_id = $2)
          delete from ${s}.push_tokens where tenant_id = $1 and device_id = $2 and ($3 = 'all' or app = $3)`,
        values: [tenantId, deviceId, what],
      });
    },

    /**
     * Due pushes that may be sent: some of each topic and kind, the longest due first, so the cost depends neither on
     * how many devices sleep nor on how many wait for a certificate. Of a stopped topic, one to try.
     */
    async due(client: Queryable, tenants: readonly number[] | null, most: number): Promise<Due[]> {
      if (!db.isDistributed) return readDue(client, tenants, most);
      const due: Due[] = [];
      for (const tenantId of tenants ?? (await tenantsWithDue(client)))
        due.push(...(await readDue(ofOne(db, client, tenantId), [tenantId], most)));
      return due;
    },

    /** Wanted and due at once, whenever the last push was; but not while a push is on its way. */
    async makeDue(tx: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<Due[]> {
      await this.want(tx, tenantId, deviceIds);
      const { rows } = await tx.query({
        text: `update ${s}.push_ledger set due_at = ${NOW} where tenant_id = $2 and device_id = any ($3) and turn is null and due_at is not null
          returning device_id, topic, pushes`,
        values: [now(), tenantId, deviceIds],
      });
      return rows.map((row) => ({
        ...{ tenantId: String(tenantId), deviceId: row.device_id, topic: row.topic, pushes: row.pushes },
        ...{ dueAt: now().getTime(), isStopped: false },
      }));
    },

    /** For the companion app. */
    async deadReasonOf(client: Queryable, tenantId: number, deviceId: string): Promise<DeadReason | null> {
      const { rows } = await client.query({
        text: `select dead_reason from ${s}.push_tokens where tenant_id = $1 and device_id = $2 and app = 'mdm' and dead_at is not null`,
        values: [tenantId, deviceId],
      });
      return rows[0] ? deadReason(rows[0].dead_reason) : null;
    },

    async messageTokenIs(
      tx: Queryable,
      tenantId: number,
      deviceId: string,
      token: Uint8Array,
      topic: string | null,
    ) {
      await tx.query({
        text: `insert into ${s}.push_tokens (updated_at, tenant_id, device_id, app, token, topic) values (${NOW}, $2, $3, 'message', $4, $5)
          on conflict (tenant_id, device_id, app) do update set updated_at = excluded.updated_at, token = excluded.token,
            topic = excluded.topic, dead_at = null, dead_reason = null`,
        values: [now(), tenantId, deviceId, Buffer.from(token), topic],
      });
    },

    /** Those that no other node has taken. A device without a token waits for its next one. */
    async take(client: Queryable, due: readonly Due[]): Promise<Taken[]> {
      const items = due.map(({ deviceId, tenantId }) => ({ deviceId, tenantId: Number(tenantId) }));
      const rows = await ofEach(client, items, async (own, some) => {
        const found = await own.query({
          name: 'muster_push_take',
          text: `with mine as materialized (
            select l.tenant_id, l.device_id from unnest($2::int[], $3::bigint[]) i(tenant_id, device_id)
            cross join lateral (
              select l.tenant_id, l.device_id from ${s}.push_ledger l
              where l.tenant_id = i.tenant_id and l.device_id = i.device_id and l.due_at <= ${NOW} limit 1 for update skip locked
            ) l
          ), known as materialized (
            select mine.*, t.token, t.magic, t.topic from mine
            left join lateral (
              select t.token, t.magic, t.topic from ${s}.push_tokens t
              where t.tenant_id = mine.tenant_id and t.device_id = mine.device_id and t.app = 'mdm' and t.dead_at is null
                and exists (select 1 from ${s}.devices d where d.tenant_id = t.tenant_id and d.device_id = t.device_id and d.deleted_at is null)
              limit 1
            ) t on true
          ), numbered as materialized (
            select known.*, case when token is not null then nextval('${s}.push_seq') end as turn from known
          )
          update ${s}.push_ledger l set turn = k.turn, due_at = case when k.token is not null then ${laterBy(NOW, `interval '${TURN_MS} ms'`)} end
          from numbered k where l.tenant_id = k.tenant_id and l.device_id = k.device_id
          returning l.tenant_id, l.device_id, l.turn, l.pushes, l.failures, k.token, k.magic, k.topic`,
          values: [now(), some.map(({ tenantId }) => tenantId), some.map(({ deviceId }) => deviceId)],
        });
        return found.rows;
      });
      return rows
        .filter((row) => row.token !== null)
        .map((row) => ({
          tenantId: row.tenant_id,
          deviceId: row.device_id,
          topic: row.topic,
          turn: row.turn,
          pushes: row.pushes,
          failures: row.failures,
          token: row.token,
          magic: row.magic,
        }));
    },

    /** Nothing is stored for a device that came meanwhile. */
    async settle(client: Queryable, settled: readonly Settled[]): Promise<void> {
      await ofEach(client, settled, async (own, some) => {
        const { rows } = await own.query({
          name: 'muster_push_settle',
          text: `update ${s}.push_ledger l set turn = null, failures = i.failures, due_at = i.due_at,
            pushes = l.pushes + i.accepted::int, pushed_at = case when i.accepted then ${NOW} else l.pushed_at end
          from unnest($2::int[], $3::bigint[], $4::bigint[], $5::boolean[], $6::int[], $7::timestamptz[])
            i(tenant_id, device_id, turn, accepted, failures, due_at)
          where l.tenant_id = i.tenant_id and l.device_id = i.device_id and l.turn = i.turn`,
          values: [
            now(),
            some.map(({ tenantId }) => tenantId),
            some.map(({ deviceId }) => deviceId),
            some.map(({ turn }) => turn),
            some.map(({ isAccepted }) => isAccepted),
            some.map(({ failures }) => failures),
            some.map(({ dueAt }) => dueAt),
          ],
        });
        return rows;
      });
    },

    /**
     * APNs does not know this token. The want stays, without a due time. False: the token has been replaced, or, if
     * APNs says since when, registered later than that.
     */
    async bury(
      tx: Queryable,
      { tenantId, deviceId, token }: Pick<Taken, 'tenantId' | 'deviceId' | 'token'>,
      { app, at, reason }: { app: 'mdm' | 'message'; at: Date | null; reason: string },
    ): Promise<boolean> {
      const { rows } = await tx.query({
        text: `update ${s}.push_tokens set dead_at = ${NOW}, dead_reason = $6
          where tenant_id = $2 and device_id = $3 and app = $4 and token = $5 and dead_at is null and ($7::timestamptz is null or updated_at < $7)
          returning 1`,
        values: [now(), tenantId, deviceId, app, token, reason, at],
      });
      if (rows.length === 0) return false;
      if (app === 'mdm')
        await tx.query({
          text: `update ${s}.push_ledger set turn = null, due_at = null where tenant_id = $1 and device_id = $2`,
          values: [tenantId, deviceId],
        });
      return true;
    },
  };
}

/** From the stored word: ours, or that of APNs. */
export const deadReason = (word: string | null): DeadReason =>
  word === 'BadDeviceToken' || word === 'apns_bad_token' ? 'apns_bad_token' : 'apns_unregistered';
