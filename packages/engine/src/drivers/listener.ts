import pg from 'pg';
import type { Listener } from '../db.ts';

/**
 * One listening session for all channels of a node, so that notifications are heard in the order they were sent. A broken
 * session is replaced, after a pause that grows to five seconds. There is never more than one: a second request to open joins
 * the opening under way, and a session that could not be set up completely is closed.
 *
 *   none ──open──► opening ──listens──► open ──broken, reconnect──► none
 *                     └──failed──► pause ──► opening
 */
interface Subscriber {
  readonly on: (payload: string) => void;
  /** Notifications sent since the last session broke are lost. */
  readonly onReconnect: () => void;
}

/** As for a pool: `Client` finds one of several hosts. */
export type ListenerConfig = pg.ClientConfig & { readonly Client?: typeof pg.Client };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export class ListenerSession {
  readonly #config: ListenerConfig;
  readonly #onError: (error: Error) => void;
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  #client: pg.Client | undefined;
  #opening: Promise<pg.Client> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #hadOne = false;

  constructor(config: ListenerConfig, onError: (error: Error) => void) {
    this.#config = config;
    this.#onError = onError;
  }

  /** Throws if it cannot get a connection. */
  async listen(channel: string, on: Subscriber['on'], onReconnect = () => {}): Promise<Listener> {
    const subscriber = { on, onReconnect };
    const known = this.#subscribers.get(channel);
    if (known) known.add(subscriber);
    else this.#subscribers.set(channel, new Set([subscriber]));
    try {
      const client = await this.#open();
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await this.#leave(channel, subscriber);
      throw error;
    }
    return {
      reconnect: () => this.reconnect(),
      close: () => this.#leave(channel, subscriber),
    };
  }

  async #leave(channel: string, subscriber: Subscriber): Promise<void> {
    const known = this.#subscribers.get(channel);
    known?.delete(subscriber);
    if (known?.size !== 0) return;
    this.#subscribers.delete(channel);
    if (this.#subscribers.size > 0) {
      await this.#client?.query(`unlisten ${pg.escapeIdentifier(channel)}`).catch(this.#onError);
      return;
    }
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#hadOne = false;
    await this.#opening?.catch(() => {}); // it finds that it is no longer wanted, and closes
    await this.#drop();
  }

  async reconnect(): Promise<void> {
    if (this.#subscribers.size === 0) return;
    void this.#drop(); // a peer that is gone never confirms the end
    await this.#open().catch(() => {}); // reported, and tried again
  }

  #open(): Promise<pg.Client> {
    if (this.#client) return Promise.resolve(this.#client);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#opening ??= this.#connect().then(
      (client) => {
        this.#opening = undefined;
        return client;
      },
      (error) => {
        this.#opening = undefined;
        this.#failed(error);
        throw error;
      },
    );
    return this.#opening;
  }

  async #connect(): Promise<pg.Client> {
    const next = new (this.#config.Client ?? pg.Client)(this.#config);
    let broken: Error | undefined;
    const breaks = (error: Error) => {
      broken ??= error;
      if (this.#client === next) this.#failed(error);
    };
    next.on('notification', ({ channel, payload }) => {
      if (this.#client === next) for (const { on } of this.#subscribers.get(channel) ?? []) on(payload ?? '');
    });
    next.on('error', breaks);
    next.on('end', () => breaks(new Error('The listening session has ended.')));
    try {
      await next.connect();
      const channels = [...this.#subscribers.keys()];
      if (channels.length > 0)
        await next.query(channels.map((one) => `listen ${pg.escapeIdentifier(one)}`).join('; '));
      if (broken) throw broken;
      if (this.#subscribers.size === 0) throw new Error('The listener is closed.');
    } catch (error) {
      // a session that connected but could not listen would stay open for ever
      next.end().catch(() => {});
      throw error;
    }
    this.#client = next;
    this.#pauseMs = FIRST_PAUSE_MS;
    const again = this.#hadOne;
    this.#hadOne = true;
    if (again)
      for (const subscribers of this.#subscribers.values())
        for (const { onReconnect } of subscribers) onReconnect();
    return next;
  }

  #failed(error: Error): void {
    if (this.#subscribers.size === 0) return;
    this.#onError(error);
    void this.#drop();
    if (this.#retry || this.#opening) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#open().catch(() => {});
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  #drop(): Promise<void> {
    const old = this.#client;
    this.#client = undefined;
    return old?.end().catch(this.#onError) ?? Promise.resolve();
  }
}
