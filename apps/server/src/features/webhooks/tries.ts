import type { Engine, Queryable } from '@muster/engine';
import type { OutgoingAnswer } from '../../outgoing/outgoing.ts';

/** The stored outcome of a try. */
export interface Try {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly error: string | null;
  readonly tookMs: number;
}
export interface StoredTry extends Try {
  readonly attempt: number;
  readonly at: Date;
}

/** This much of an answer is kept. */
const KEPT_BYTES = 4_096;
const KEPT_HEADERS = 20;
const LONGEST_HEADER = 500;

export function tryOf(answer: OutgoingAnswer): Try {
  const { tookMs } = answer;
  if (answer.outcome !== 'answered')
    return { status: null, headers: {}, body: Buffer.alloc(0), error: answer.text, tookMs };
  const { body, headers, status } = answer;
  const isTaken = status >= 200 && status < 300;
  return {
    ...{ status, tookMs, body: body.subarray(0, KEPT_BYTES) },
    headers: Object.fromEntries(
      Object.entries(headers)
        .slice(0, KEPT_HEADERS)
        .map(([name, value]) => [name, value.slice(0, LONGEST_HEADER).replaceAll('\u0000', '')]),
    ),
    error: isTaken ? null : `The endpoint answered ${status}.`,
  };
}

export type Tries = ReturnType<typeof createTries>;

export function createTries({ schema: s, now }: Pick<Engine, 'schema' | 'now'>) {
  return {
    async add(
      tx: Queryable,
      key: { tenantId: number; actionId: string; attempt: number },
      { body, error, headers, status, tookMs }: Try,
    ): Promise<void> {
      await tx.query({
        name: 'muster_webhook_tries',
        text: `insert into ${s}.webhook_tries (tenant_id, action_id, attempt, at, status, headers, body, error, took_ms)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        values: [
          ...[key.tenantId, key.actionId, key.attempt, now(), status],
          ...[JSON.stringify(headers), body, error, tookMs],
        ],
      });
    },

    /** The newest first. */
    async of(client: Queryable, tenantId: number, actionId: string): Promise<StoredTry[]> {
      const { rows } = await client.query({
        text: `select attempt, at, status, headers, body, error, took_ms as "tookMs" from ${s}.webhook_tries
          where tenant_id = $1 and action_id = $2 order by attempt desc limit 100`,
        values: [tenantId, actionId],
      });
      return rows;
    },
  };
}
