import type { Engine, Queryable, Transaction } from '@muster/engine';
import { isTransaction } from '@muster/engine';
import type { Config } from '../config.ts';
import type { Log } from '../http/logging.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { AccountCalls, accountOf, type QstashAccount } from './account.ts';
import { createDeduplication } from './deduplication.ts';
import { Deliverers } from './deliverers.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { failureOf } from './follow-up.ts';
import { CallbackLanes } from './lanes.ts';
import { createLetters, type Letters } from './letters.ts';
import {
  BACKOFF_MS,
  CALLBACKS,
  DEFAULT_RETRIES,
  DEFAULT_TIMEOUT_MS,
  LONGEST_BACKOFF_MS,
  leaseOf,
  OWN_PATHS,
  type StoredMessage,
} from './message.ts';
import { createSigningKeys, isSignedBy } from './signing-keys.ts';

export interface NewMessage {
  readonly tenantId: number;
  readonly message: StoredMessage;
  readonly notBefore?: Date | undefined;
  readonly deduplicationId?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly createdBy?: string | undefined;
}

/** A call of this server to itself, later. */
export interface OwnCall {
  readonly tenantId: number;
  /** One of OWN_PATHS, perhaps with a query. */
  readonly path: string;
  readonly body: unknown;
  readonly at: Date;
  /** The same one again schedules nothing new. */
  readonly deduplicationId: string;
}

interface Options {
  readonly config: Config;
  readonly engine: Engine;
  readonly log: Log;
  readonly outgoing: Outgoing;
  readonly secrets: Secrets;
}

/**
 * Requests that are sent later, signed, and tried until they are taken. Each is an action in a lane of its destination, queued in
 * the transaction of whatever it follows from. `features/callbacks` offers it to everybody, other doors use it for themselves.
 */
export class Callbacks {
  readonly deliveries: Deliveries;
  readonly letters: Letters;
  readonly keys: ReturnType<typeof createSigningKeys>;
  readonly #account: QstashAccount | null;
  readonly #calls: AccountCalls | null;
  readonly #deduplication: ReturnType<typeof createDeduplication>;
  readonly #deliverers: Deliverers;
  readonly #engine: Engine;
  readonly #lanes: CallbackLanes;
  readonly #secrets: Secrets;

  constructor({ config, engine, log, outgoing, secrets }: Options) {
    this.#engine = engine;
    this.#secrets = secrets;
    this.#account = accountOf(config);
    this.#calls = this.#account && new AccountCalls(this.#account, outgoing, log);
    this.#lanes = new CallbackLanes(engine);
    this.#deduplication = createDeduplication(engine);
    this.deliveries = createDeliveries(engine, config.MUSTER_RETENTION_DAYS);
    this.keys = createSigningKeys(engine.schema, secrets);
    this.letters = createLetters(engine, (tx, tenantId, actionId) => this.#tell(tx, tenantId, actionId));
    this.#deliverers = new Deliverers({
      ...{ deliveries: this.deliveries, engine, keys: this.keys, lanes: this.#lanes, log, outgoing },
      publish: (tx, message) => this.publish(tx, message),
    });
    for (const duty of [
      this.#deduplication.forgetting(),
      this.#lanes.givingUp(),
      this.deliveries.pruning(),
      this.letters.telling,
    ])
      engine.addDuty(duty);
  }

  /** Whether callbacks can be signed. Without a secrets key nothing can: whoever needs one to come must do without. */
  get isReady(): boolean {
    return this.#calls !== null || this.#secrets.isReady;
  }

  /** Queued when the transaction commits. */
  async publish(tx: Queryable, given: NewMessage): Promise<{ actionId: string; isNew: boolean }> {
    const { tenantId, message, deduplicationId } = given;
    if (deduplicationId !== undefined) {
      const present = await this.#deduplication.take(tx, tenantId, deduplicationId);
      if (present !== null) return { actionId: present, isNew: false };
    }
    await this.keys.ensure(tx, tenantId); // says so now if there is no key to seal them with
    const host = message.isOwn ? 'this server' : new URL(message.url).host;
    const { id } = await this.#engine.enqueue(tx, {
      ...{ tenantId, laneId: await this.#lanes.laneOf(tx, tenantId, host), channel: CALLBACKS },
      ...{ kind: 'callback', payload: message, createdBy: given.createdBy, notBefore: given.notBefore },
      ...{ maxAttempts: message.retries + 1, backoffMs: BACKOFF_MS, backoffMaxMs: LONGEST_BACKOFF_MS },
      ...{ leaseMs: leaseOf(message), tags: given.labels, unbounded: message.isOwn },
    });
    if (deduplicationId !== undefined) await this.#deduplication.means(tx, tenantId, deduplicationId, id);
    if (isTransaction(tx)) tx.afterCommit(() => this.#deliverers.lookSoon(tenantId));
    return { actionId: id, isNew: true };
  }

  /**
   * To this server itself, or by the account of the settings: then it is sent there after the commit, and not at all if that
   * fails. Nor is it without a key to sign it with. Whoever has himself called has a second way.
   */
  async schedule(tx: Transaction, { at, body, deduplicationId, path, tenantId }: OwnCall): Promise<void> {
    if (!OWN_PATHS.includes(path.split('?')[0] as string))
      throw new Error(`${path} is not among those that this server may call.`);
    const text = JSON.stringify(body);
    const calls = this.#calls;
    if (calls) {
      tx.afterCommit(() =>
        calls.publish({ at, body: text, deduplicationId, path, retries: DEFAULT_RETRIES }),
      );
      return;
    }
    if (!this.isReady) return;
    const sending = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      retries: DEFAULT_RETRIES,
    };
    await this.publish(tx, {
      ...{ tenantId, notBefore: at, deduplicationId: ownId(deduplicationId) },
      message: { ...sending, url: path, isOwn: true, body: text, timeoutMs: DEFAULT_TIMEOUT_MS },
    });
  }

  /** What was scheduled under this id is not sent any more, unless it is under way. */
  async unschedule(tx: Transaction, tenantId: number, deduplicationId: string): Promise<void> {
    const calls = this.#calls;
    if (calls) {
      tx.afterCommit(() => calls.cancel(deduplicationId));
      return;
    }
    const actionId = await this.#deduplication.find(tx, tenantId, ownId(deduplicationId));
    if (actionId !== null) await this.#engine.cancel(tx, { tenantId, actionId });
  }

  /** Whether a request to one of our own paths was signed by us for this tenant, or by the account of the settings. */
  async isSigned(
    client: Queryable,
    request: { tenantId: number; signature: string; body: Buffer; path: string },
  ): Promise<boolean> {
    const own = this.#secrets.isReady ? await this.keys.find(client, request.tenantId) : null;
    const keys = [
      ...(own ? [own.current, own.next] : []),
      ...(this.#account ? [this.#account.currentKey, this.#account.nextKey] : []),
    ];
    return isSignedBy(keys, { ...request, at: this.#engine.now() });
  }

  /** `ownUrl`: where this server listens. */
  start(ownUrl: string): Promise<void> {
    return this.#deliverers.start(ownUrl);
  }

  async stop(): Promise<void> {
    await this.#deliverers.stop();
    await this.#calls?.settled();
  }

  /** Whoever wanted to know of a failure is told by a message of its own. */
  async #tell(tx: Queryable, tenantId: number, actionId: string): Promise<void> {
    const view = await this.#engine.get(tx, tenantId, actionId);
    if (view?.state !== 'failed') return;
    const failure = failureOf(view, (await this.deliveries.last(tx, tenantId, [actionId])).get(actionId));
    if (!failure) return;
    const [{ delayMs }, message] = failure;
    const notBefore = delayMs > 0 ? new Date(this.#engine.now().getTime() + delayMs) : undefined;
    await this.publish(tx, { tenantId, message, notBefore, labels: view.tags });
  }
}

/** Nobody who publishes can take the ids of our own calls: theirs have no space in them. */
const ownId = (deduplicationId: string) => `own ${deduplicationId}`;
