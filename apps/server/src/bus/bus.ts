import { randomUUID } from 'node:crypto';
import { type Engine, isTransaction, type Queryable } from '@muster/engine';
import type { Alerts } from '../alerts/alerts.ts';
import type { Log } from '../http/logging.ts';
import { warnUnlessAway } from '../http/logging.ts';
import { type BusLanes, LanesOfBus, laneOfKey } from './bus-lanes.ts';
import { Consumer } from './consumer.ts';
import { addDeadLetters } from './dead-letters.ts';
import { BUS, type Message, type Stored, type Subscription } from './subscription.ts';

/** After this many receives a message is a dead letter. */
export const RECEIVES = 3;
const BACKOFF_MS = 1_000;
/** How soon a node notices that a tenant has its first message on another node. */
const LOOK_MS = 5_000;

interface Options {
  readonly alerts: Alerts;
  readonly engine: Engine;
  readonly log: Log;
}

/**
 * Messages between independent parts of the server. A message is an action of an internal lane, one for each
 * subscription: published in the transaction of its cause, consumed in one transaction with its effects, in order per
 * key, tried three times, and then a dead letter, which is never lost silently.
 */
export class Bus {
  readonly #options: Options;
  readonly #lanes: LanesOfBus;
  readonly #worker = `bus-${randomUUID()}`;
  readonly #subscriptions: Subscription[] = [];
  readonly #consumers = new Map<string, Consumer>();
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;

  constructor(options: Options) {
    this.#options = options;
    this.#lanes = new LanesOfBus(options.engine);
    addDeadLetters({ ...options, find: (name) => this.#subscriptions.find((one) => one.name === name) });
  }

  /** Before the start. */
  subscribe<Body>(subscription: Subscription<Body>): void {
    if (this.#isStarted || this.#subscriptions.some(({ name }) => name === subscription.name))
      throw new Error(`${subscription.name} cannot subscribe now, or is already subscribed.`);
    this.#subscriptions.push(subscription as Subscription);
  }

  /**
   * Makes the lanes of a topic. Publishing makes them too, but two concurrent first publishers wait for each other's
   * commit, which gathered work cannot afford. Not inside a transaction.
   */
  async prepare(topic: string, tenantId: number): Promise<void> {
    for (const { name } of this.#subscriptions.filter((one) => one.topic === topic))
      await this.#lanes.prepare(tenantId, name);
  }

  /** To all subscriptions, when the transaction commits. */
  async publish(tx: Queryable, topic: string, messages: readonly Message[]): Promise<void> {
    const actions = [];
    const tenants = new Set(messages.map(({ tenantId }) => tenantId));
    for (const { name } of this.#subscriptions.filter((one) => one.topic === topic)) {
      const lanesOf = new Map<number, BusLanes>();
      for (const tenantId of tenants) {
        lanesOf.set(tenantId, await this.#lanes.of(tx, tenantId, name));
        if (isTransaction(tx)) tx.afterCommit(() => this.#takeFor(tenantId, name));
      }
      for (const { tenantId, key, body } of messages)
        actions.push({
          tenantId,
          laneId: laneOfKey(lanesOf.get(tenantId) as BusLanes, key),
          channel: BUS,
          kind: name,
          unbounded: true,
          payload: { key, body } satisfies Stored,
          maxAttempts: RECEIVES,
          backoffMs: BACKOFF_MS,
          headOfLine: 'hold' as const,
        });
    }
    for (const answer of await this.#options.engine.enqueueMany(tx, actions))
      if (answer instanceof Error) throw answer;
  }

  /** Since when a message waits for this subscription; null: none waits. */
  waitingSince(client: Queryable, subscription: string, tenantId: number): Promise<Date | null> {
    return this.#lanes.waitingSince(client, tenantId, subscription);
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#look();
    this.#timer = setInterval(
      () =>
        void this.#look().catch((error) =>
          this.#options.log[warnUnlessAway(error)](
            { err: error },
            'The tenants of the bus could not be read.',
          ),
        ),
      LOOK_MS,
    );
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStarted = false;
    await Promise.all([...this.#consumers.values()].map((consumer) => consumer.stop()));
    this.#consumers.clear();
  }

  async #look(): Promise<void> {
    for (const { name } of this.#subscriptions)
      for (const tenantId of await this.#lanes.tenantsOf(name)) this.#takeFor(tenantId, name);
  }

  #takeFor(tenantId: number, name: string): void {
    const word = `${tenantId}:${name}`;
    const subscription = this.#subscriptions.find((one) => one.name === name);
    if (!this.#isStarted || !subscription || this.#consumers.has(word)) return;
    const { engine, log } = this.#options;
    const consumer = new Consumer({
      ...{ engine, lanes: this.#lanes, log, subscription, tenantId, worker: this.#worker },
    });
    this.#consumers.set(word, consumer);
  }
}
