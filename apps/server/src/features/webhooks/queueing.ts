import { createHash } from 'node:crypto';
import type { Engine, Queryable } from '@muster/engine';
import { BACKOFF_MS, LONGEST_BACKOFF_MS, TRIES, WEBHOOKS } from './channel.ts';
import type { WebhookRow } from './queries.ts';
import type { CloudEvent } from './told-events.ts';

/** A request to be sent. */
export interface NewDelivery {
  readonly webhook: Pick<WebhookRow, 'tenantId' | 'webhookId' | 'laneIds'>;
  readonly key: string;
  readonly event: CloudEvent;
  readonly replayOf?: string | undefined;
}

/** The payload of an action of this channel. */
export interface StoredDelivery {
  readonly webhookId: string;
  readonly key: string;
  readonly event: CloudEvent;
}

export type Queueing = ReturnType<typeof createQueueing>;

/** Deliveries become actions in the lanes of their webhooks, in the caller's transaction: all or none. */
export function createQueueing(engine: Engine) {
  const { schema: s, now } = engine;

  /** Returns their ids, in order. */
  return async (tx: Queryable, deliveries: readonly NewDelivery[]): Promise<string[]> => {
    if (deliveries.length === 0) return [];
    const answers = await engine.enqueueMany(
      tx,
      deliveries.map(({ event, key, webhook: { laneIds, tenantId, webhookId } }) => ({
        ...{
          tenantId,
          laneId: laneOfKey(laneIds, key),
          channel: WEBHOOKS,
          kind: event.type,
          unbounded: true,
        },
        ...{ payload: { webhookId, key, event } satisfies StoredDelivery, tags: [`webhook:${webhookId}`] },
        ...{ maxAttempts: TRIES, backoffMs: BACKOFF_MS, backoffMaxMs: LONGEST_BACKOFF_MS },
        headOfLine: 'hold' as const,
      })),
    );
    const ids = answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer.id;
    });
    const rows = deliveries.map(({ event, replayOf, webhook }, n) => ({
      ...{ tenant_id: webhook.tenantId, action_id: ids[n], webhook_id: webhook.webhookId },
      ...{ event_type: event.type, event_id: event.id, event_at: event.time },
      ...{ subject: event.subject ?? null, replay_of: replayOf ?? null },
    }));
    await tx.query({
      name: 'muster_webhook_deliveries',
      text: `insert into ${s}.webhook_deliveries (created_at, tenant_id, action_id, webhook_id, event_type, event_id, event_at, subject, replay_of)
        select $1, i.tenant_id, i.action_id, i.webhook_id, i.event_type, i.event_id, i.event_at, i.subject, i.replay_of
        from jsonb_to_recordset($2::jsonb) i(tenant_id int, action_id bigint, webhook_id bigint, event_type text, event_id text,
          event_at timestamptz, subject text, replay_of bigint)`,
      values: [now(), JSON.stringify(rows)],
    });
    return ids;
  };
}

/** Always the same lane for a key. */
function laneOfKey(laneIds: readonly string[], key: string): string {
  const hash = createHash('sha256').update(key).digest().readUInt32BE(0);
  return laneIds[hash % laneIds.length] as string;
}
