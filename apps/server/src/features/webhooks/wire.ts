import type { Webhook, WebhookDelivery, WebhookDeliveryWithTries } from '@muster/contracts';
import type { DeliveryRow } from './deliveries.ts';
import type { Health, WebhookRow } from './queries.ts';
import type { StoredTry } from './tries.ts';

export function wireWebhook(row: WebhookRow & Health): Webhook {
  const { cursor, pausedAt, pausedBy, pausedReason } = row;
  return {
    id: row.webhookId,
    name: row.name,
    url: row.url,
    events: row.events as Webhook['events'],
    filter: row.filter,
    state: pausedAt ? 'paused' : 'active',
    ...(pausedAt && pausedBy
      ? { pausedSince: pausedAt.toISOString(), pausedReason: pausedReason ?? '', pausedBy }
      : {}),
    catchingUp: cursor !== null && pausedAt === null,
    failingSince: row.failingSince?.toISOString() ?? null,
    last: row.lastAt && row.lastAction ? { ...lastOf(row.lastAt, row), deliveryId: row.lastAction } : null,
    counts: { delivered: row.delivered, failed: row.givenUp },
    createdAt: row.createdAt.toISOString(),
    createdBy: row.createdBy,
  };
}

export function wireDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.actionId,
    event: row.eventType,
    eventId: row.eventId,
    eventAt: row.eventAt.toISOString(),
    subject: row.subject,
    state: row.state,
    attempt: row.attempt,
    createdAt: row.createdAt.toISOString(),
    ...(row.replayOf === null ? {} : { replayOf: row.replayOf }),
    last: row.lastAt ? lastOf(row.lastAt, row) : null,
  };
}

export function wireWithTries(row: DeliveryRow, tries: readonly StoredTry[]): WebhookDeliveryWithTries {
  return {
    ...wireDelivery(row),
    request: row.payload?.event ?? null,
    tries: tries.map(({ at, body, ...rest }) => ({ ...rest, at: at.toISOString(), body: textOf(body) })),
  };
}

/** Answers may be any bytes; JSON and people need text. */
export const textOf = (body: Buffer) => body.toString('utf8').replaceAll('\u0000', '\ufffd');

const lastOf = (at: Date, row: { lastStatus: number | null; lastError: string | null }) => ({
  at: at.toISOString(),
  status: row.lastStatus,
  error: row.lastError,
});
