import { type Duty, dutyRun, type Engine, type Queryable } from '@muster/engine';
import type { OutgoingAnswer } from '../outgoing/outgoing.ts';

/** The stored outcome of a try. */
export interface Delivery {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly error: string | null;
}

/** This much of an answer is kept. */
const KEPT_BYTES = 16_384;
const LONGEST_HEADER = 1_000;
const MOST = 1_000;
const DAY_MS = 86_400_000;

export function deliveryOf(answer: OutgoingAnswer): Delivery {
  if (answer.outcome !== 'answered')
    return { status: null, headers: {}, body: Buffer.alloc(0), error: answer.text };
  const { status, headers, body } = answer;
  const isTaken = status >= 200 && status < 300;
  return {
    status,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, storable(value.slice(0, LONGEST_HEADER))]),
    ),
    body: body.subarray(0, KEPT_BYTES),
    error: isTaken ? null : `The destination answered ${status}.`,
  };
}

/** Headers are read as latin1, so anything but text is a control character. */
function storable(value: string): string {
  return value.replaceAll('\u0000', '');
}

/** The answers of deliveries, for the history of messages. */
export function createDeliveries({ schema: s, now }: Pick<Engine, 'schema' | 'now'>, retentionDays: number) {
  return {
    async add(
      tx: Queryable,
      key: { tenantId: number; actionId: string; attempt: number },
      { status, headers, body, error }: Delivery,
    ): Promise<void> {
      await tx.query({
        name: 'muster_callback_delivery',
        text: `insert into ${s}.callback_deliveries (tenant_id, action_id, attempt, at, status, headers, body, error)
          values ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [
          key.tenantId,
          key.actionId,
          key.attempt,
          now(),
          status,
          JSON.stringify(headers),
          body,
          error,
        ],
      });
    },

    /** The last answer of each message. */
    async last(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, Delivery>> {
      const { rows } = await client.query({
        name: 'muster_callback_last_delivery',
        text: `select i.action_id, d.status, d.headers, d.body, d.error from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select * from ${s}.callback_deliveries d where d.tenant_id = $1 and d.action_id = i.action_id order by d.attempt desc limit 1
          ) d`,
        values: [tenantId, actionIds],
      });
      return new Map(rows.map(({ action_id, ...delivery }) => [action_id as string, delivery as Delivery]));
    },

    pruning: (): Duty => ({
      name: 'prune-callbacks',
      everyMs: 60_000,
      byIndex: true,
      async runOnce(client) {
        // a day longer than the actions are kept
        const before = new Date(now().getTime() - (retentionDays + 1) * DAY_MS);
        let most = 0;
        for (const [table, key] of [
          ['callback_deliveries', 'attempt'],
          ['callback_letters', 'action_id'],
        ] as const) {
          const { rows } = await client.query({
            text: `with old as materialized (
                select * from ${s}.${table} where at < $1::timestamptz order by at limit ${MOST} for update skip locked
              ), gone as (
                delete from ${s}.${table} d using old
                where d.tenant_id = any(array[old.tenant_id]) and d.action_id = old.action_id and d.${key} = old.${key}
              )
              select count(*)::int as n from old`,
            values: [before],
          });
          most = Math.max(most, rows[0].n);
        }
        return dutyRun(most, MOST);
      },
    }),
  };
}

export type Deliveries = ReturnType<typeof createDeliveries>;
