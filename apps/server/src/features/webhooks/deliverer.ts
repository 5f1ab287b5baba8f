import { type ClaimedAction, type Engine, isTransaction, type Queryable } from '@muster/engine';
import type { Log } from '../../http/logging.ts';
import { LaneSender } from '../../outgoing/lane-sender.ts';
import type { Outgoing, OutgoingAnswer, OutgoingRequest } from '../../outgoing/outgoing.ts';
import { DEAD_MS, LEASE_MS, SLOTS, TIMEOUT_MS, WEBHOOKS } from './channel.ts';
import type { Metrics } from './metrics.ts';
import type { WebhookKey, WebhookQueries, WebhookRow } from './queries.ts';
import type { StoredDelivery } from './queueing.ts';
import type { SecretsOf } from './secrets.ts';
import { signatureHeaders } from './signing.ts';
import type { CloudEvent } from './told-events.ts';
import { type Tries, tryOf } from './tries.ts';

export interface DelivererTools {
  readonly engine: Engine;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly outgoing: Outgoing;
  readonly queries: WebhookQueries;
  readonly secretsOf: SecretsOf;
  readonly tries: Tries;
  readonly worker: string;
  /** Something has changed. */
  lookSoon(): void;
  /** Nothing is sent to it until an operator resumes it. */
  pause(webhook: WebhookKey, reason: string): Promise<void>;
}

/** The endpoint says that it will never accept anything again. */
const GONE = 410;

/** Sends what is due in the lanes of one webhook. */
export function startDeliverer(tools: DelivererTools, webhook: WebhookRow): LaneSender {
  const { engine, log, metrics, outgoing, queries, secretsOf, tries, worker } = tools;

  async function request(action: ClaimedAction): Promise<Omit<OutgoingRequest, 'signal'> | OutgoingAnswer> {
    const row = await queries.get(engine.db, webhook);
    if (!row || row.pausedAt) {
      // it was paused on another node, so its sender here must end too
      tools.lookSoon();
      return { outcome: 'stopped', text: 'The webhook is paused.', tookMs: 0 };
    }
    return requestOf(
      row,
      secretsOf(row, engine.now()),
      engine.now(),
      (action.payload as StoredDelivery).event,
    );
  }

  /** Ends the try and writes its line in the log. */
  async function settle(tx: Queryable, action: ClaimedAction, answer: OutgoingAnswer): Promise<void> {
    const { id: actionId, attempt, laneId: leasedIn, tenantId } = action;
    const one = tryOf(answer);
    const { error, status } = one;
    const { accepted, repeated, state } = await engine.report(tx, {
      ...{ tenantId, actionId, attempt, leasedIn, worker },
      ...(error === null ? { status: 'succeeded', result: { status } } : { status: 'failed', error }),
    });
    // the lease has ended meanwhile: its new holder reports the outcome
    if (!accepted || repeated) return;
    await tries.add(tx, { tenantId, actionId, attempt }, one);
    const givenUp = state === 'failed';
    await queries.noteTry(tx, webhook, { actionId, error, givenUp, status });
    const outcome = error === null ? 'delivered' : givenUp ? 'given_up' : 'failed';
    if (isTransaction(tx)) tx.afterCommit(() => metrics.tried(tenantId, outcome));
  }

  /** After the try is settled. If this node dies before, the next failed try does it. */
  async function pauseIfDead(_action: ClaimedAction, answer: OutgoingAnswer): Promise<void> {
    const { error, status } = tryOf(answer);
    if (error === null) return;
    if (status === GONE) return tools.pause(webhook, `The endpoint answered ${GONE}: gone for good.`);
    const row = await queries.get(engine.db, webhook);
    if (row?.failingSince && row.lastAt && row.lastAt.getTime() - row.failingSince.getTime() >= DEAD_MS)
      await tools.pause(
        webhook,
        `The endpoint has accepted nothing since ${row.failingSince.toISOString()}. Last try: ${error}`,
      );
  }

  return new LaneSender({
    ...{ engine, log, outgoing, worker, tenantId: webhook.tenantId, runnerId: webhook.runnerId },
    ...{ atOnce: SLOTS, channel: WEBHOOKS, leaseMs: LEASE_MS, what: 'Webhook' },
    ...{ request, settle, settled: pauseIfDead },
  });
}

/** The body is the same with each try: only the time and the signatures differ. */
export function requestOf(
  { url }: Pick<WebhookRow, 'url'>,
  secrets: readonly string[],
  at: Date,
  event: CloudEvent,
) {
  const body = JSON.stringify(event);
  return {
    ...{ url, method: 'POST', body, timeoutMs: TIMEOUT_MS },
    headers: {
      'content-type': 'application/cloudevents+json',
      'user-agent': 'Muster',
      ...signatureHeaders(secrets, { id: event.id, at, body }),
    },
  };
}
