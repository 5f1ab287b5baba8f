import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import type { Log } from '../http/logging.ts';
import { LaneSender } from '../outgoing/lane-sender.ts';
import type { Outgoing, OutgoingAnswer, OutgoingRequest } from '../outgoing/outgoing.ts';
import type { PlaceLimits } from '../outgoing/places.ts';
import { type Deliveries, type Delivery, deliveryOf } from './deliveries.ts';
import { followUp } from './follow-up.ts';
import type { CallbackLine } from './lanes.ts';
import {
  bodyOf,
  CALLBACKS,
  DEFAULT_TIMEOUT_MS,
  leaseOf,
  messageIdOf,
  OWN_PATHS,
  readMessage,
  SLOW_MS,
  type StoredMessage,
} from './message.ts';
import { sign, type TenantKeys } from './signing-keys.ts';

export interface DelivererOptions {
  readonly deliveries: Deliveries;
  readonly engine: Engine;
  readonly keys: { find(client: Queryable, tenantId: number): Promise<TenantKeys | null> };
  readonly line: CallbackLine;
  readonly log: Log;
  /** Moves the lane to another line. */
  readonly moveTo: (line: CallbackLine, lane: { laneId: string; tenantId: number }) => Promise<void>;
  readonly outgoing: Outgoing;
  readonly ownUrl: string;
  readonly publish: (
    tx: Queryable,
    given: {
      tenantId: number;
      message: StoredMessage;
      notBefore?: Date | undefined;
      labels: readonly string[];
      isFollowUp: true;
    },
  ) => Promise<unknown>;
  readonly runnerId: string;
  readonly tenantId: number;
  readonly worker: string;
}

/**
 * For one tenant on this node; calls to this server itself are counted separately. A lane whose request is slow moves
 * to the slow line, which has places of its own, and the request leaves its place: hosts that hang hold up the others
 * for one second when they begin to, and then no longer.
 */
const PLACES: Record<CallbackLine, PlaceLimits> = {
  quick: { atOnce: 200, slow: { places: 400, bytes: 64 * 1_048_576 } },
  slow: { atOnce: 100 },
  own: { atOnce: 100 },
};
/** As in QStash: the destination says that retrying is useless. */
const NON_RETRYABLE = 489;

/** Sends the callbacks of one runner. */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #sender: LaneSender;

  constructor(options: DelivererOptions) {
    const { engine, line, log, moveTo, outgoing, runnerId, tenantId, worker } = options;
    this.#options = options;
    this.#sender = new LaneSender({
      ...{ engine, log, outgoing, runnerId, tenantId, worker },
      ...{ ...PLACES[line], channel: CALLBACKS, what: 'Callback' },
      ...(line === 'quick' ? { slowAfterMs: SLOW_MS, slowed: (lane) => moveTo('slow', lane) } : {}),
      leaseMs: leaseOf({ timeoutMs: DEFAULT_TIMEOUT_MS }),
      request: (action) => this.#request(action),
      settle: (tx, action, answer) => this.#settle(tx, action, answer),
      async settled(lane, { tookMs }) {
        if (line === 'slow' && tookMs < SLOW_MS) await moveTo('quick', lane);
      },
    });
  }

  stop(): Promise<void> {
    return this.#sender.stop();
  }

  async #request(action: ClaimedAction): Promise<Omit<OutgoingRequest, 'signal'> | OutgoingAnswer> {
    const { engine, keys, ownUrl } = this.#options;
    const message = readMessage(action.payload);
    if (!message) return { outcome: 'forbidden', text: 'The stored request cannot be read.', tookMs: 0 };
    const body = bodyOf(message);
    const isOwn = message.isOwn === true && OWN_PATHS.includes(message.url.split('?')[0] as string);
    const url = isOwn ? ownUrl + message.url : message.url;
    const key = await keys.find(engine.db, action.tenantId);
    if (!key) return { outcome: 'forbidden', text: 'There is no key to sign it with.', tookMs: 0 };
    const messageId = messageIdOf(action.id);
    const by = isOwn ? key.own : key.current;
    const signature = await sign(by, { at: engine.now(), body, messageId, url });
    return {
      ...{ url, method: message.method, timeoutMs: message.timeoutMs },
      trusted: isOwn ? 'own' : undefined,
      headers: {
        ...message.headers,
        'user-agent': 'Muster',
        'upstash-message-id': messageId,
        'upstash-retried': String(action.attempt - 1),
        'upstash-signature': signature,
      },
      body: message.method === 'GET' && body.length === 0 ? null : body,
    };
  }

  /** Stores the end of the try, its answer and the follow-up message: all or nothing. */
  async #settle(tx: Queryable, action: ClaimedAction, answer: OutgoingAnswer): Promise<void> {
    const { deliveries, engine } = this.#options;
    const { id: actionId, attempt, laneId: leasedIn, tenantId, worker } = action;
    const delivery = deliveryOf(answer);
    const final = answer.outcome === 'answered' && answer.status === NON_RETRYABLE;
    const { accepted, repeated, state } = await engine.report(tx, {
      ...{ tenantId, actionId, attempt, leasedIn, worker },
      ...(delivery.error === null
        ? { status: 'succeeded', result: { status: delivery.status } }
        : { status: 'failed', error: delivery.error, final }),
    });
    // the lease has ended meanwhile: its new holder reports the outcome
    if (!accepted || repeated) return;
    await deliveries.add(tx, { tenantId, actionId, attempt }, delivery);
    if (state === 'succeeded') await this.#callBack(tx, action, delivery);
  }

  async #callBack(tx: Queryable, action: ClaimedAction, delivery: Delivery): Promise<void> {
    const { engine, publish } = this.#options;
    const message = readMessage(action.payload);
    const to = message?.callback;
    if (!to) return;
    const { attempt, createdAt, id: actionId, tags: labels, tenantId } = action;
    await publish(tx, {
      ...{ tenantId, labels, isFollowUp: true },
      message: followUp(to, { actionId, attempt, createdAt, delivery, isDead: false, message }),
      notBefore: to.delayMs > 0 ? new Date(engine.now().getTime() + to.delayMs) : undefined,
    });
  }
}
