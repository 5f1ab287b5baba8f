import { type ClaimedAction, type Engine, type Queryable, whileLocked } from '@muster/engine';
import type { Log } from '../http/logging.ts';
import type { Outgoing, OutgoingAnswer } from '../outgoing/outgoing.ts';
import { type Deliveries, type Delivery, deliveryOf } from './deliveries.ts';
import { followUp } from './follow-up.ts';
import {
  bodyOf,
  CALLBACKS,
  DEFAULT_TIMEOUT_MS,
  leaseOf,
  messageIdOf,
  OWN_PATHS,
  type StoredMessage,
} from './message.ts';
import { type SigningKeys, sign } from './signing-keys.ts';

export interface DelivererOptions {
  readonly deliveries: Deliveries;
  readonly engine: Engine;
  readonly keys: { find(client: Queryable, tenantId: number): Promise<SigningKeys | null> };
  readonly log: Log;
  readonly outgoing: Outgoing;
  readonly ownUrl: string;
  readonly publish: (
    tx: Queryable,
    given: {
      tenantId: number;
      message: StoredMessage;
      notBefore?: Date | undefined;
      labels: readonly string[];
    },
  ) => Promise<unknown>;
  readonly runnerId: string;
  readonly tenantId: number;
  readonly worker: string;
}

const WAIT_MS = 25_000;
/** Of one tenant on this node. */
const AT_ONCE = 100;
const LONGEST_PAUSE_MS = 10_000;
/** As QStash has it: the destination says that trying again is in vain. */
const NON_RETRYABLE = 489;

/** Sends the callbacks of one tenant: claims what is due, or waits at the cost of no query. */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #faults = 0;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** What is under way is broken off and given back: a destination may get it twice, as over any lost answer. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const { engine, log, runnerId, tenantId, worker } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted)
      try {
        if (this.#underWay.size >= AT_ONCE) await Promise.race(this.#underWay);
        const claimed = await engine.claimSlots(engine.db, {
          ...{
            tenantId,
            runnerId,
            channel: CALLBACKS,
            worker,
            leaseMs: leaseOf({ timeoutMs: DEFAULT_TIMEOUT_MS }),
          },
          ...{ max: AT_ONCE - this.#underWay.size, waitMs: WAIT_MS, signal },
        });
        for (const action of claimed) this.#begin(action);
        this.#faults = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#faults += 1;
        if (this.#faults === 1)
          log.warn({ err: error, tenantId }, 'Callbacks cannot be claimed; trying again.');
        await pause(Math.min(100 * 2 ** this.#faults, LONGEST_PAUSE_MS), signal);
      }
  }

  #begin(action: ClaimedAction): void {
    const delivery = this.#deliver(action)
      // its lease ends, and it is tried again
      .catch((error) =>
        this.#options.log.warn(
          { err: error, message: action.id },
          'What came of a callback could not be stored.',
        ),
      )
      .finally(() => this.#underWay.delete(delivery));
    this.#underWay.add(delivery);
  }

  async #deliver(action: ClaimedAction): Promise<void> {
    const { engine } = this.#options;
    const answer = await this.#send(action);
    if (answer.outcome === 'stopped') {
      const { id: actionId, attempt, tenantId, worker } = action;
      await engine.release(engine.db, { actionId, attempt, tenantId, worker, reason: answer.text });
      return;
    }
    await whileLocked(engine.db, (tx) => this.#settle(tx, action, answer));
  }

  async #send(action: ClaimedAction): Promise<OutgoingAnswer> {
    const { engine, keys, outgoing, ownUrl } = this.#options;
    const message = action.payload as StoredMessage;
    const body = bodyOf(message);
    const isOwn = message.isOwn === true && OWN_PATHS.includes(message.url.split('?')[0] as string);
    const url = isOwn ? ownUrl + message.url : message.url;
    const key = await keys.find(engine.db, action.tenantId);
    if (!key) return { outcome: 'forbidden', text: 'There is no key to sign it with.', tookMs: 0 };
    const messageId = messageIdOf(action.id);
    const signature = await sign(key.current, { at: engine.now(), body, messageId, url });
    return outgoing.send({
      ...{ url, method: message.method, timeoutMs: message.timeoutMs, signal: this.#stop.signal },
      trusted: isOwn ? 'own' : undefined,
      headers: {
        ...message.headers,
        'user-agent': 'Muster',
        'upstash-message-id': messageId,
        'upstash-retried': String(action.attempt - 1),
        'upstash-signature': signature,
      },
      body: message.method === 'GET' && body.length === 0 ? null : body,
    });
  }

  /** The end of the try, its answer and who is told of it: all or nothing. */
  async #settle(tx: Queryable, action: ClaimedAction, answer: OutgoingAnswer): Promise<void> {
    const { deliveries, engine } = this.#options;
    const { id: actionId, attempt, tenantId, worker } = action;
    const delivery = deliveryOf(answer);
    const final = answer.outcome === 'answered' && answer.status === NON_RETRYABLE;
    const { accepted, repeated, state } = await engine.report(tx, {
      ...{ tenantId, actionId, attempt, worker },
      ...(delivery.error === null
        ? { status: 'succeeded', result: { status: delivery.status } }
        : { status: 'failed', error: delivery.error, final }),
    });
    // the lease has ended meanwhile: whoever has it now says what came of it
    if (!accepted || repeated) return;
    await deliveries.add(tx, { tenantId, actionId, attempt }, delivery);
    if (state === 'succeeded') await this.#callBack(tx, action, delivery);
  }

  async #callBack(tx: Queryable, action: ClaimedAction, delivery: Delivery): Promise<void> {
    const { engine, publish } = this.#options;
    const message = action.payload as StoredMessage;
    const to = message.callback;
    if (!to) return;
    const { attempt, createdAt, id: actionId, tags: labels, tenantId } = action;
    await publish(tx, {
      ...{ tenantId, labels },
      message: followUp(to, { actionId, attempt, createdAt, delivery, isDead: false, message }),
      notBefore: to.delayMs > 0 ? new Date(engine.now().getTime() + to.delayMs) : undefined,
    });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
