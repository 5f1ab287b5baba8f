import { type Duty, dutyRun, type Engine, type Queryable } from '@muster/engine';
import { CALLBACKS } from './message.ts';

const MOST = 100;

/**
 * Dead letters: entered by the statement that ends the last try, whoever runs it (a report, housekeeping), and taken out when
 * they are tried again. A duty tells those who wanted to know; who has dealt with one dismisses it.
 */
export function createLetters(
  engine: Engine,
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

  const telling: Duty = {
    name: 'tell-of-dead-letters',
    everyMs: 1_000,
    byIndex: true,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_callback_letters',
        text: `select tenant_id, action_id from ${s}.callback_letters where look_at <= $1::timestamptz
          order by look_at limit ${MOST} for update skip locked`,
        values: [engine.now()],
      });
      for (const { tenant_id: tenantId, action_id: actionId } of rows) {
        await tell(client, tenantId, actionId);
        await client.query({
          text: `update ${s}.callback_letters set look_at = null where tenant_id = $1 and action_id = $2`,
          values: [tenantId, actionId],
        });
      }
      return dutyRun(rows.length, MOST);
    },
  };

  return {
    telling,

    /** The newest first; `ids`: of these alone. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { ids?: readonly string[] | undefined; before?: string | undefined; limit: number },
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `select action_id from ${s}.callback_letters where tenant_id = $1 and not is_dismissed
            and ($2::bigint is null or action_id < $2) and ($3::bigint[] is null or action_id = any($3))
          order by action_id desc limit $4`,
        values: [tenantId, page.before ?? null, page.ids ?? null, page.limit],
      });
      return rows.map((row) => row.action_id);
    },

    /** Says how many there were. */
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
