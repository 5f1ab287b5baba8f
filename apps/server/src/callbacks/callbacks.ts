import type { Engine, NewAction, Queryable, Transaction } from '@muster/engine';
import { EngineError, isTransaction } from '@muster/engine';
import type { Config } from '../config.ts';
import type { Log } from '../http/logging.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { AccountCalls, accountOf, type QstashAccount } from './account.ts';
import { createDeduplication } from './deduplication.ts';
import { Deliverers } from './deliverers.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { failureOf } from './follow-up.ts';
import { CallbackLanes, LANES_PER_HOST } from './lanes.ts';
import { createLetters, type Letters } from './letters.ts';
import {
  BACKOFF_MS,
  CALLBACKS,
  DEFAULT_RETRIES,
  DEFAULT_TIMEOUT_MS,
  LONGEST_BACKOFF_MS,
  leaseOf,
  MESSAGE,
  OWN_BACKOFF_MS,
  OWN_CALL,
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
  /**
   * It follows another message: queued even if its host's lanes are full, because the other message could not end
   * otherwise.
   */
  readonly isFollowUp?: boolean | undefined;
}

/** A delayed call of this server to itself. */
export interface OwnCall {
  readonly tenantId: number;
  /** One of OWN_PATHS. */
  readonly path: string;
  readonly body: unknown;
  readonly at: Date;
  /** A repeated id schedules nothing new. */
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
 * Requests that are sent later, signed, and retried until they are accepted. Each is an action in a lane of its
 * destination, queued in the transaction of its cause. `features/callbacks` offers them to clients, other doors use
 * them internally.
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
  readonly #haveKeys = new Set<number>();
  readonly #lanes: CallbackLanes;
  readonly #lineDepth: number;
  readonly #secrets: Secrets;

  constructor({ config, engine, log, outgoing, secrets }: Options) {
    this.#engine = engine;
    this.#secrets = secrets;
    this.#account = accountOf(config);
    this.#calls = this.#account && new AccountCalls(this.#account, outgoing, log);
    this.#lanes = new CallbackLanes(engine);
    this.#lineDepth = config.MUSTER_LANE_DEPTH_LIMIT;
    this.#deduplication = createDeduplication(engine);
    this.deliveries = createDeliveries(engine, config.MUSTER_RETENTION_DAYS);
    this.keys = createSigningKeys(engine.schema, secrets);
    this.letters = createLetters(engine, log, (tx, tenantId, actionId) => this.#tell(tx, tenantId, actionId));
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

  /** Whether callbacks can be signed, which needs a secrets key. Without one, callers must do without callbacks. */
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
    await this.keys.ensure(tx, tenantId); // throws now if there is no key to seal them with
    const id = await this.#enqueue(tx, {
      ...{ tenantId, channel: CALLBACKS, kind: MESSAGE, payload: message, createdBy: given.createdBy },
      ...{ notBefore: given.notBefore, ...tries(message), tags: given.labels, unbounded: given.isFollowUp },
    });
    if (deduplicationId !== undefined) await this.#deduplication.means(tx, tenantId, deduplicationId, id);
    afterCommit(tx, () => this.#deliverers.lookSoon(tenantId, 'quick'));
    return { actionId: id, isNew: true };
  }

  /**
   * Calls this server itself, in the transaction or, with the engine's `db`, gathered with concurrent calls in one
   * statement. With the account of the settings it is sent there after the commit, and not at all if that fails.
   * Without a signing key it is not sent either. So callers need a second way.
   */
  async schedule(client: Queryable, { at, body, deduplicationId, path, tenantId }: OwnCall): Promise<void> {
    if (!OWN_PATHS.includes(path)) throw new Error(`This server may not call ${path}.`);
    const url = `${path}?tenant=${tenantId}`;
    const text = JSON.stringify(body);
    const calls = this.#calls;
    if (calls) {
      const publish = () =>
        calls.publish({ at, body: text, deduplicationId, path: url, retries: DEFAULT_RETRIES });
      return afterCommit(client, publish);
    }
    if (!this.isReady) return;
    await this.#ensureKeys(client, tenantId);
    const message: StoredMessage = {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, retries: DEFAULT_RETRIES },
      ...{ url, isOwn: true, body: text, timeoutMs: DEFAULT_TIMEOUT_MS },
    };
    try {
      await this.#engine.enqueue(client, {
        ...{ tenantId, laneId: await this.#lanes.ownLane(client, tenantId, deduplicationId) },
        ...{ channel: CALLBACKS, kind: OWN_CALL, payload: message, notBefore: at, tags: [path] },
        ...{ ...tries(message), unbounded: true, idempotencyKey: ownKey(deduplicationId) },
      });
    } catch (error) {
      // the id decides: it is already scheduled, only for another time
      if (!(error instanceof EngineError && error.code === 'MUSTER_IDEMPOTENCY_MISMATCH')) throw error;
    }
    afterCommit(client, () => this.#deliverers.lookSoon(tenantId, 'own'));
  }

  /** Cancels what was scheduled under this id, unless it is being sent. */
  async unschedule(tx: Transaction, tenantId: number, deduplicationId: string): Promise<void> {
    const calls = this.#calls;
    if (calls) return tx.afterCommit(() => calls.cancel(deduplicationId));
    const actionId = await this.#engine.idOfKey(tx, tenantId, ownKey(deduplicationId));
    if (actionId !== null) await this.#engine.cancel(tx, { tenantId, actionId });
  }

  /** The same for several, in two statements. */
  async unscheduleMany(tx: Transaction, tenantId: number, ids: readonly string[]): Promise<void> {
    const calls = this.#calls;
    if (calls)
      return tx.afterCommit(() => {
        for (const id of ids) calls.cancel(id);
      });
    const engine = this.#engine;
    await engine.cancelMany(tx, tenantId, await engine.idsOfKeys(tx, tenantId, ids.map(ownKey)));
  }

  /** Cancels everything the tenant has scheduled for this path; an account needs the ids. */
  async unscheduleAll(
    tx: Transaction,
    { ids, path, tenantId }: { ids: readonly string[]; path: string; tenantId: number },
  ): Promise<void> {
    const calls = this.#calls;
    if (calls)
      return tx.afterCommit(() => {
        for (const id of ids) calls.cancel(id);
      });
    // by the kind too: a publisher's label may look like a path
    await this.#engine.cancelMatching(tx, { tenantId, channel: CALLBACKS, kind: OWN_CALL, tag: path });
  }

  /**
   * The tenant for which a request to one of our own paths was signed, by us or by the account of the settings; null:
   * none. `url` is the path with the query as received: the signature covers all of it.
   */
  async signedFor(
    client: Queryable,
    { url, ...request }: { url: string; signature: string; body: Buffer },
  ): Promise<number | null> {
    const tenantId = Number(/\?tenant=([1-9]\d{0,8})$/.exec(url)?.[1]);
    if (!tenantId) return null;
    const given = { ...request, at: this.#engine.now() };
    const own = this.#secrets.isReady ? await this.keys.find(client, tenantId) : null;
    const ownKeys = own ? [own.own] : [];
    const account = this.#account;
    const isSigned =
      (await isSignedBy(ownKeys, { ...given, isFor: ({ pathname, search }) => pathname + search === url })) ||
      // publishers of the account choose any address: only requests to this server count
      (account !== null &&
        (await isSignedBy([account.currentKey, account.nextKey], {
          ...given,
          isFor: ({ href }) => href === new URL(account.publicUrl + url).href,
        })));
    return isSigned ? tenantId : null;
  }

  /** `ownUrl`: where this server listens. */
  start(ownUrl: string): Promise<void> {
    return this.#deliverers.start(ownUrl);
  }

  async stop(): Promise<void> {
    await this.#deliverers.stop();
    await this.#calls?.settled();
  }

  /** Into a lane of its host that has room. */
  async #enqueue(
    tx: Queryable,
    action: Omit<NewAction, 'laneId' | 'payload'> & { payload: StoredMessage },
  ): Promise<string> {
    const { host } = new URL(action.payload.url);
    for await (const laneId of this.#lanes.lanesOf(tx, action.tenantId, host))
      try {
        return (await this.#engine.enqueue(tx, { ...action, laneId })).id;
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'MUSTER_LANE_FULL')) throw error;
      }
    throw new EngineError(
      'MUSTER_LANE_FULL',
      `${LANES_PER_HOST * this.#lineDepth} messages already wait for ${host}, the most allowed: ${LANES_PER_HOST} lanes of MUSTER_LANE_DEPTH_LIMIT each.`,
    );
  }

  /** Once per tenant: keys change, but are never removed. */
  async #ensureKeys(client: Queryable, tenantId: number): Promise<void> {
    if (this.#haveKeys.has(tenantId)) return;
    await this.keys.ensure(client, tenantId);
    afterCommit(client, () => void this.#haveKeys.add(tenantId));
  }

  /** Reports a failure to its failure callback, by a message of its own. */
  async #tell(tx: Queryable, tenantId: number, actionId: string): Promise<void> {
    const view = await this.#engine.get(tx, tenantId, actionId);
    if (view?.state !== 'failed') return;
    const failure = failureOf(view, (await this.deliveries.last(tx, tenantId, [actionId])).get(actionId));
    if (!failure) return;
    const [{ delayMs }, message] = failure;
    const notBefore = delayMs > 0 ? new Date(this.#engine.now().getTime() + delayMs) : undefined;
    await this.publish(tx, { tenantId, message, notBefore, labels: view.tags, isFollowUp: true });
  }
}

/** Keys that come over HTTP begin with a method name, so they never clash with those of our own calls. */
const ownKey = (deduplicationId: string) => `callback ${deduplicationId}`;

const tries = (message: StoredMessage) => ({
  ...{ maxAttempts: message.retries + 1, backoffMaxMs: LONGEST_BACKOFF_MS },
  backoffMs: message.isOwn ? OWN_BACKOFF_MS : BACKOFF_MS,
  leaseMs: leaseOf(message),
});

/** Without a transaction everything is already committed. */
function afterCommit(client: Queryable, run: () => void): void {
  if (isTransaction(client)) client.afterCommit(run);
  else run();
}
