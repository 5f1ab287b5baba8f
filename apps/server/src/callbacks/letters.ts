import { type Duty, dutyRun, type Engine, hasCome, type Queryable, whileLocked } from '@muster/engine';
import type { Log } from '../http/logging.ts';
import { CALLBACKS } from './message.ts';

const MOST = 100;
/** After an error the other letters come first. */
const AGAIN_MS = 60_000;

/**
 * Dead letters: entered by the statement that ends the last try, whatever runs it (a report, housekeeping), and removed
 * when they are retried. A duty sends the failure callbacks; operators dismiss letters they have dealt with.
 */
export function createLetters(
  engine: Engine,
  log: Log,
  tell: (tx: Queryable, tenantId: number, actionId: string) => Promise<void>,
) {
  const s = engine.schema;
  engine.addEffect({
    name: 'callback_letters',
    channels: [CALLBACKS],
    sql: (own) => ({
      steps: `${own('in')} as (
        insert into ${s}.callback_letters as b (tenant_id, action_id, at, look_at)
          select t.tenant_id, t.action_id, t.at, t.at from ${own('tr')} t where t.state = 'failed' and t.before <> 'failed'
          order by t.tenant_id, t.action_id
          on conflict (tenant_id, action_id) do update set at = excluded.at, look_at = excluded.look_at, is_dismissed = false
      ), ${own('out')} as (
        delete from ${s}.callback_letters b using ${own('tr')} t
        where b.tenant_id = any(array[t.tenant_id]) and b.action_id = t.action_id and t.before = 'failed' and t.state <> 'failed'
      )`,
    }),
  });

  /** Sends and notes it in one transaction; skipped if another transaction is at it. */
  const tellOf = (tenantId: number, actionId: string) =>
    whileLocked(engine.db, async (tx) => {
      const { rows } = await tx.query({
        name: 'muster_callback_letter',
        text: `select 1 from ${s}.callback_letters
          where tenant_id = $1 and action_id = $2 and look_at <= $3::timestamptz for update skip locked`,
        values: [tenantId, actionId, engine.now()],
      });
      if (rows.length === 0) return;
      await tell(tx, tenantId, actionId);
      await lookAt(tx, tenantId, actionId, null);
    });

  async function lookAt(client: Queryable, tenantId: number, actionId: string, at: Date | null) {
    await client.query({
      name: 'muster_callback_letter_told',
      text: `update ${s}.callback_letters set look_at = $3 where tenant_id = $1 and action_id = $2 and look_at is not null`,
      values: [tenantId, actionId, at],
    });
  }

  const telling: Duty = {
    name: 'tell-of-dead-letters',
    everyMs: 1_000,
    due: hasCome(`${s}.callback_letters`, 'look_at'),
    isOutside: true, // each letter in its own transaction: one whose callback cannot be queued holds up no other
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_callback_letters',
        text: `select tenant_id, action_id from ${s}.callback_letters where look_at <= $1::timestamptz
          order by look_at limit ${MOST}`,
        values: [engine.now()],
      });
      for (const { tenant_id: tenantId, action_id: actionId } of rows)
        try {
          await tellOf(tenantId, actionId);
        } catch (error) {
          log.warn(
            { err: error, message: actionId, tenantId },
            'The failure callback of a dead letter could not be sent yet.',
          );
          await lookAt(client, tenantId, actionId, new Date(engine.now().getTime() + AGAIN_MS));
        }
      return dutyRun(rows.length, MOST);
    },
  };

  return {
    telling,

    /** Newest first; `ids`: only these, `kind`: only of this kind. */
    async list(
      client: Queryable,
      tenantId: number,
      page: {
        ids?: readonly string[] | undefined;
        kind?: string | undefined;
        before?: string | undefined;
        limit: number;
      },
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `select b.action_id from ${s}.callback_letters b where b.tenant_id = $1 and not b.is_dismissed
            and ($2::bigint is null or b.action_id < $2) and ($3::bigint[] is null or b.action_id = any($3))
            and ($5::text is null or $5 = (
              select x.kind from ${s}.action_states x where x.tenant_id = $1 and x.action_id = b.action_id limit 1))
          order by b.action_id desc limit $4`,
        values: [tenantId, page.before ?? null, page.ids ?? null, page.limit, page.kind ?? null],
      });
      return rows.map((row) => row.action_id);
    },

    /** Returns how many there were. */
    async dismiss(tx: Queryable, tenantId: number, ids: readonly string[]): Promise<number> {
      const { rows } = await tx.query({
        text: `update ${s}.callback_letters set is_dismissed = true
          where tenant_id = $1 and action_id = any($2::bigint[]) and not is_dismissed returning 1`,
        values: [tenantId, ids],
      });
      return rows.length;
    },
  };
}

export type Letters = ReturnType<typeof createLetters>;
