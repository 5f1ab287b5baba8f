import { randomUUID } from 'node:crypto';
import { type Database, ofTenant, type Queryable, whileLocked } from '@muster/engine';
import { alertPush, MdmError, nextTryInMs, type PushOutcome } from '@muster/mdm';
import { laterBy } from '../../../database/later-by.ts';
import type { Log } from '../../../http/logging.ts';
import type { Faults } from './faults.ts';
import { deadReason, type Ledger } from './ledger.ts';
import type { Providers } from './providers.ts';
import type { PushMetrics } from './push-metrics.ts';
import type { MessageOutcome, NewMessage, OnMessage } from './pushes.ts';

interface Options {
  readonly db: Database;
  readonly schema: string;
  readonly now: () => Date;
  readonly log: Log;
  /** The companion app; null: there is none. */
  readonly topic: string | null;
  readonly faults: Faults;
  readonly ledger: Ledger;
  readonly metrics: PushMetrics;
  readonly providers: Providers;
  readonly told: readonly OnMessage[];
}

interface Row {
  readonly tenant_id: number;
  readonly message_id: string;
  readonly device_id: string;
  readonly message: string;
  readonly failures: number;
  readonly until: Date | null;
  readonly turn: string;
  readonly token: Buffer | null;
  readonly dead_reason: string | null;
  readonly stopped_until: Date | null;
}

const MOST_AT_ONCE = 100;
const TURN_SECONDS = 120;
const NOT_CONFIGURED: MessageOutcome = { kind: 'failed', code: 'MESSAGE_PUSH_NOT_CONFIGURED' };

export type Messages = ReturnType<typeof createMessages>;

/**
 * Messages that a companion app shows. A message is retried until APNs accepts it, can never accept it, or it expires;
 * the outcome is published in the transaction that ends it. If that is lost, it is sent once more: better twice than
 * never.
 */
export function createMessages(options: Options) {
  const { db, faults, ledger, log, metrics, now, providers, schema: s, topic } = options;
  const sending = new Set<Promise<void>>();
  let isStopping = false;
  let round: Promise<number> = Promise.resolve(0);

  async function take(client: Queryable): Promise<Row[]> {
    if (!db.isDistributed) return takeOf(client, MOST_AT_ONCE - sending.size);
    const { rows: tenants } = await client.query({
      text: `select distinct m.tenant_id from ${s}.push_messages m where m.due_at <= $1 and ${s}.sought_by(m.due_at)`,
      values: [now()],
    });
    const taken: Row[] = [];
    for (const { tenant_id: tenantId } of tenants)
      taken.push(...(await takeOf(ofTenant(client, tenantId), MOST_AT_ONCE - sending.size - taken.length)));
    return taken;
  }

  async function takeOf(client: Queryable, most: number): Promise<Row[]> {
    const { rows } = await client.query({
      text: `with mine as materialized (
          select m.tenant_id, m.message_id from ${s}.push_messages m where m.due_at <= $1 and ${s}.sought_by(m.due_at)
          order by m.due_at limit $3 for update skip locked
        ), numbered as materialized (
          select mine.*, nextval('${s}.push_seq') as turn from mine
        )
        update ${s}.push_messages m set turn = mine.turn, due_at = ${laterBy('$1::timestamptz', `interval '${TURN_SECONDS} seconds'`)}
        from numbered mine where m.tenant_id = mine.tenant_id and m.message_id = mine.message_id
        returning m.*, (
          select t.token from ${s}.push_tokens t where t.tenant_id = m.tenant_id and t.device_id = m.device_id and t.app = 'message'
            and t.dead_at is null limit 1
        ) as token, (
          select t.dead_reason from ${s}.push_tokens t where t.tenant_id = m.tenant_id and t.device_id = m.device_id and t.app = 'message'
            and t.dead_at is not null limit 1
        ) as dead_reason, (
          select t.stopped_until from ${s}.push_topics t where t.tenant_id = m.tenant_id and t.topic = $2 limit 1
        ) as stopped_until`,
      values: [now(), topic, Math.max(0, most)],
    });
    return rows;
  }

  async function later(row: Row, at: Date, failures: number): Promise<void> {
    await db.query({
      text: `update ${s}.push_messages set turn = null, failures = $4, due_at = least($5, until) where tenant_id = $1 and message_id = $2 and turn = $3`,
      values: [row.tenant_id, row.message_id, row.turn, failures, at],
    });
  }

  function end(row: Row, outcome: MessageOutcome, bury?: { at: Date | null; reason: string }): Promise<void> {
    return whileLocked(db, async (tx) => {
      const { rows } = await tx.query({
        text: `delete from ${s}.push_messages where tenant_id = $1 and message_id = $2 and turn = $3 returning 1`,
        values: [row.tenant_id, row.message_id, row.turn],
      });
      if (rows.length === 0) return;
      const device = { tenantId: row.tenant_id, deviceId: row.device_id, token: row.token as Buffer };
      if (bury) await ledger.bury(tx, device, { app: 'message', ...bury });
      for (const told of options.told) await told(tx, row.tenant_id, row.device_id, row.message_id, outcome);
    });
  }

  async function send(row: Row): Promise<void> {
    const at = now();
    if (row.until !== null && row.until <= at) return end(row, { kind: 'failed', code: 'TOO_LATE' });
    if (topic !== null && row.dead_reason !== null)
      return end(row, { kind: 'failed', code: deadReason(row.dead_reason) });
    if (topic === null || row.token === null) return end(row, NOT_CONFIGURED);
    if (row.stopped_until !== null && row.stopped_until > at)
      return later(row, row.stopped_until, row.failures);
    const provider = await providers.of(row.tenant_id, topic);
    if ('fault' in provider.sender) return end(row, NOT_CONFIGURED);
    let outcome: PushOutcome;
    try {
      const push = { token: row.token, topic, now: at, apnsId: randomUUID(), message: row.message };
      outcome = await provider.sender.push(alertPush(push));
    } catch (error) {
      if (error instanceof MdmError) return end(row, { kind: 'failed', code: 'MESSAGE_TOO_LARGE' });
      throw error;
    }
    metrics.count('message', outcome);
    switch (outcome.kind) {
      case 'accepted':
        await faults.isFine(provider.topic, row.stopped_until !== null);
        return end(row, { kind: 'accepted' });
      case 'again': {
        const ms = outcome.reason === 'closed' ? 0 : nextTryInMs(row.failures + 1, outcome.retryAfterMs);
        return later(row, new Date(now().getTime() + ms), row.failures + 1);
      }
      case 'provider-fault':
        await faults.stop(provider.topic, outcome.reason);
        return later(row, now(), row.failures);
      case 'bad-token':
        return end(row, { kind: 'failed', code: 'apns_bad_token' }, { at: null, reason: outcome.reason });
      default:
        return end(
          row,
          { kind: 'failed', code: 'apns_unregistered' },
          { at: outcome.at, reason: outcome.reason },
        );
    }
  }

  /** When it resolves, all due messages are on their way; returns how many. */
  async function lookOnce(client: Queryable): Promise<number> {
    if (isStopping || sending.size >= MOST_AT_ONCE) return 0;
    const rows = await take(client);
    for (const row of rows) {
      const one = send(row)
        .catch((error) => log.warn({ err: error }, 'The outcome of a message could not be written.'))
        .finally(() => sending.delete(one));
      sending.add(one);
    }
    return rows.length;
  }

  const look = (client: Queryable): Promise<number> => {
    round = round.catch(() => 0).then(() => lookOnce(client));
    return round;
  };

  return {
    /** In SQL, for a duty. */
    isAnyDue: `(select m.due_at from ${s}.push_messages m where ${s}.sought_by(m.due_at) order by m.due_at limit 1) <= $1::timestamptz`,
    async add(
      tx: Queryable,
      tenantId: number,
      deviceId: string,
      { id, text, until }: NewMessage,
    ): Promise<void> {
      await tx.query({
        text: `insert into ${s}.push_messages (due_at, tenant_id, message_id, device_id, message, until) values ($1, $2, $3, $4, $5, $6)
          on conflict do nothing`,
        values: [now(), tenantId, id, deviceId, text, until ?? null],
      });
    },
    look,
    soon: () =>
      void look(db).catch((error) =>
        log.warn({ err: error }, 'Messages could not be checked now; housekeeping will do it.'),
      ),
    async idle(): Promise<void> {
      await round.catch(() => 0);
      while (sending.size > 0) await Promise.all(sending);
    },
    /** After the providers have settled all pending pushes. */
    async stop(): Promise<void> {
      isStopping = true;
      await round.catch(() => 0);
      await Promise.all(sending);
    },
  };
}
