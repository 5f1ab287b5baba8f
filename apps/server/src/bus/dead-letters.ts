import { type Duty, dutyRun, type Engine, hasCome, type Queryable } from '@muster/engine';
import type { Alerts } from '../alerts/alerts.ts';
import { BUS, type Stored, type Subscription } from './subscription.ts';

interface Options {
  readonly alerts: Alerts;
  readonly engine: Engine;
  readonly find: (subscription: string) => Subscription | undefined;
}

/** A dead letter that may work later is queued again after these times, three times in all. */
const AGAIN_MS = [30_000, 120_000, 480_000];
const MOST = 100;
const UNUSABLE = 'Unusable:';

/**
 * A message whose tries are used up is entered with its last failure, whatever noticed it. A duty looks at it: if it
 * may work later, it is queued again with a delay; otherwise it is given up, with an alert. It stays a dead letter that
 * operators see and redrive.
 *
 *   failed ──► look ──may work later──► wait ──► queued again ──► taken: removed
 *                 └──it will not, or three times over──► given up, alert
 */
export function addDeadLetters(options: Options): void {
  const { engine } = options;
  const s = engine.schema;
  engine.addEffect({
    name: 'bus_letters',
    channels: [BUS],
    sql: (own) => ({
      steps: `${own('in')} as (
        insert into ${s}.bus_dead_letters as b (tenant_id, action_id, look_at)
          select t.tenant_id, t.action_id, t.at from ${own('tr')} t where t.state = 'failed' and t.before <> 'failed'
          order by t.tenant_id, t.action_id
          on conflict (tenant_id, action_id) do update set look_at = excluded.look_at, is_to_be_queued = false
      ), ${own('out')} as (
        delete from ${s}.bus_dead_letters b using ${own('tr')} t
        where b.tenant_id = any(array[t.tenant_id]) and b.action_id = t.action_id and t.state in ('succeeded', 'cancelled')
      )`,
    }),
  });
  engine.addDuty(createDuty(options));
}

interface Due {
  tenant_id: number;
  action_id: string;
  rounds: number;
  is_to_be_queued: boolean;
  kind: string;
  payload: Stored;
  error: string | null;
}

function createDuty({ alerts, engine, find }: Options): Duty {
  const s = engine.schema;

  const set = (client: Queryable, due: Due, values: string, ...more: unknown[]) =>
    client.query({
      text: `update ${s}.bus_dead_letters set ${values} where tenant_id = $1 and action_id = $2`,
      values: [due.tenant_id, due.action_id, ...more],
    });

  async function look(client: Queryable, due: Due): Promise<void> {
    if (due.is_to_be_queued) {
      await set(client, due, 'look_at = null, is_to_be_queued = false');
      await engine.redrive(client, {
        ...{ tenantId: due.tenant_id, actionId: due.action_id, reason: 'It may work now.' },
      });
      return;
    }
    const subscription = find(due.kind);
    const afterMs = AGAIN_MS[due.rounds];
    if (afterMs !== undefined && !due.error?.startsWith(UNUSABLE)) {
      const at = new Date(engine.now().getTime() + afterMs);
      await set(client, due, 'look_at = $3, is_to_be_queued = true, rounds = rounds + 1', at);
      return;
    }
    await set(client, due, 'look_at = null');
    const { key, body } = due.payload;
    const letter = { tenantId: due.tenant_id, id: due.action_id, key, body, error: due.error };
    await subscription?.giveUp?.(client, letter);
    await alerts.raise(client, {
      tenantId: due.tenant_id,
      name: 'bus.dead-letter',
      text: `A ${due.kind} message could not be consumed: ${due.error ?? 'it timed out'}.`,
      data: { actionId: due.action_id, subscription: due.kind },
    });
  }

  return {
    name: 'bus-dead-letters',
    everyMs: 1_000,
    due: hasCome(`${s}.bus_dead_letters`, 'look_at'),
    whose: `select distinct b.tenant_id from ${s}.bus_dead_letters b where b.look_at <= $1::timestamptz`,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_bus_dead_letters',
        text: `select b.tenant_id, b.action_id, b.rounds, b.is_to_be_queued, a.kind, a.payload, a.error
          from (
            select * from ${s}.bus_dead_letters b where b.look_at <= $1::timestamptz order by b.look_at limit ${MOST} for update skip locked
          ) b
          cross join lateral (
            select * from ${s}.action_states a where a.tenant_id = b.tenant_id and a.action_id = b.action_id limit 1
          ) a`,
        values: [engine.now()],
      });
      for (const due of rows as Due[]) await look(client, due);
      return dutyRun(rows.length, MOST);
    },
  };
}
