import { BoundedMap, type Database, isTransaction, type Queryable } from '@muster/engine';

/**
 * A cache that is valid until a change is announced: a change notifies every node of its word, in the transaction of
 * the change. A lost notification is made good by the time limit; after a standstill everything is dropped. When it is
 * full, the oldest entry is dropped.
 */
export interface NotifiedCacheOptions {
  /** The channel of LISTEN and NOTIFY. */
  readonly channel: string;
  readonly most: number;
  readonly keptMs: number;
  /** The entries with this word were changed, here or on another node. */
  readonly onTold?: (word: string) => void;
  /** Notifications may have been lost: anything may have changed. */
  readonly onMissed?: () => void;
  /** Milliseconds of a clock that never goes back; by default that of the process. */
  readonly clock?: () => number;
}

interface Entry<V> {
  readonly word: string;
  readonly value: V;
  readonly until: number;
}

export class NotifiedCache<V> {
  readonly #db: Database;
  readonly #options: NotifiedCacheOptions;
  readonly #clock: () => number;
  readonly #byKey: BoundedMap<string, Entry<V>>;
  readonly #keyOf = new Map<string, string>();
  #version = 0;

  constructor(db: Database, options: NotifiedCacheOptions) {
    this.#db = db;
    this.#options = options;
    this.#byKey = new BoundedMap(options.most);
    this.#clock = options.clock ?? (() => performance.now());
  }

  /** Raised by every change: a value read before it must not be cached after it. */
  get version(): number {
    return this.#version;
  }

  get(key: string): V | undefined {
    const entry = this.#byKey.get(key);
    if (!entry) return undefined;
    if (this.#clock() < entry.until) return entry.value;
    this.#drop(key);
    return undefined;
  }

  /** `version` is the one from before the read; `word` announces its change, if that is not the key. */
  keep(key: string, value: V, version: number, word = key): void {
    if (version !== this.#version) return;
    this.#drop(key);
    this.#drop(this.#keyOf.get(word));
    const dropped = this.#byKey.set(key, { word, value, until: this.#clock() + this.#options.keptMs });
    if (dropped) this.#keyOf.delete(dropped.word);
    this.#keyOf.set(word, key);
  }

  /**
   * In the transaction of the change, so notification and change come together; this node need not wait for it. Nothing
   * is dropped before the commit, which may never come.
   */
  async tell(client: Queryable, words: readonly string[]): Promise<void> {
    if (words.length === 0) return;
    await client.query({
      text: 'select pg_notify($1, w) from unnest($2::text[]) w',
      values: [this.#options.channel, words],
    });
    const forget = () => {
      for (const word of words) this.#told(word);
    };
    if (isTransaction(client)) client.afterCommit(forget);
    else forget();
  }

  /** Starts listening for changes on other nodes. */
  async start(): Promise<{ stop(): Promise<void> }> {
    const listener = await this.#db.listen(
      this.#options.channel,
      (word) => this.#told(word),
      () => this.#missed(),
    );
    return { stop: () => listener.close() };
  }

  #told(word: string): void {
    this.#version += 1;
    this.#drop(this.#keyOf.get(word));
    this.#options.onTold?.(word);
  }

  #missed(): void {
    this.#version += 1;
    this.#byKey.clear();
    this.#keyOf.clear();
    this.#options.onMissed?.();
  }

  #drop(key: string | undefined): void {
    const entry = key === undefined ? undefined : this.#byKey.get(key);
    if (key === undefined || !entry) return;
    this.#byKey.delete(key);
    this.#keyOf.delete(entry.word);
  }
}
