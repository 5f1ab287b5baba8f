import type { Database, Listener, Queryable } from './db.ts';
import { LostAnswers, type LostAnswersOptions } from './lost-answers.ts';
import type { Touched, Wake } from './transition.ts';
import { Waiters } from './waiters.ts';

/**
 * Notifies waiters that something may be claimable: on this node directly, on others by one notification per turn.
 * While no other node is alive nothing is sent. Words: `1:42` a lane of tenant 1, `1r7` a runner, `1s7` what it must
 * stop, `1*` everything of the tenant, `*` everything, `-` nothing but that something has happened, `1:42+` that
 * actions entered the lane which no enqueue of the library has counted. Other messages: `tick` from the leader, `from
 * <node> <words>`, `node <node>` when one has started, and `known <node>` as the answer to that. Words without a node
 * come from a transaction on a caller's client if the first is `=`, otherwise from plain SQL, whose additions to the
 * lanes it names are not counted. A node ignores its own `from`.
 */
const MOST_BYTES = 7_000;
const SILENCE_MS = 10_000;
const RETRY_MS = 100;
const OF_LIBRARY = '=';
const FILLS = '+';

export function laneKey(tenantId: number, laneId: string): string {
  return `${tenantId}:${laneId}`;
}

export function runnerKey(tenantId: number, runnerId: string): string {
  return `${tenantId}r${runnerId}`;
}

/** For watchers of what the runner holds. */
export function stopKey(tenantId: number, runnerId: string): string {
  return `${tenantId}s${runnerId}`;
}

function wordsOf(wake: Wake): string[] {
  if (wake.news) return ['-'];
  const words: string[] = [];
  if (wake.laneId) {
    const lane = laneKey(wake.tenantId, wake.laneId);
    words.push(lane);
    if (wake.fills) words.push(`${lane}${FILLS}`);
  }
  if (wake.runnerId) words.push(runnerKey(wake.tenantId, wake.runnerId));
  if (wake.runnerId && wake.stops) words.push(stopKey(wake.tenantId, wake.runnerId));
  return words.length > 0 ? words : [`${wake.tenantId}*`];
}

export class WakeUps {
  readonly waiters: Waiters;
  readonly lost: LostAnswers;
  /** The other nodes that are alive, as far as housekeeping knows. */
  #others: readonly string[] = [];
  /** How many have started. */
  #welcomed = 0;
  readonly #db: Database;
  readonly #channel: string;
  readonly #nodeId: string;
  readonly #onError: (error: unknown) => void;
  readonly #onNode: () => void;
  readonly #onFilled: (lane: string | null) => void;
  #listener: Listener | undefined;
  #heardAt = 0;
  readonly #watchers = new Set<() => void>();
  #toTell = new Set<string>();
  #scheduled = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    db: Database,
    options: {
      channel: string;
      nodeId: string;
      maxWaiting: number;
      find: LostAnswersOptions<Touched>['find'];
      onError: (error: unknown) => void;
      onNode: () => void;
      /** Something uncounted entered the lane (its key); null: or any lane. */
      onFilled: (lane: string | null) => void;
    },
  ) {
    this.waiters = new Waiters(options.maxWaiting);
    this.lost = new LostAnswers({
      find: options.find,
      tell: (wakes) => this.tell(wakes),
      tellAll: () => this.#tellWords(['*']),
    });
    this.#db = db;
    this.#channel = options.channel;
    this.#nodeId = options.nodeId;
    this.#onError = options.onError;
    this.#onNode = options.onNode;
    this.#onFilled = options.onFilled;
  }

  async start(): Promise<void> {
    this.#heardAt = performance.now();
    this.#stopped = false;
    this.#listener = await this.#db.listen(
      this.#channel,
      (payload) => this.#hear(payload),
      () => this.#listensAgain(),
    );
  }

  /** Call it before the nodes are counted: a count from before a node started must not make that node unknown again. */
  counting(): (others: readonly string[]) => void {
    const welcomed = this.#welcomed;
    return (others) => {
      if (welcomed !== this.#welcomed) return;
      const before = this.#others;
      this.#others = others;
      for (const node of others) if (!before.includes(node)) this.#tellItIsKnown(node);
      // it may have died between a commit and its notification
      if (before.some((node) => !others.includes(node))) this.waiters.wakeAll();
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.lost.stop();
    this.waiters.endAll();
    await this.#listener?.close();
    this.#listener = undefined;
  }

  /** Called after every commit here, and for messages of other nodes; returns a function that ends it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** After a commit of this node. */
  tell(wakes: readonly Wake[]): void {
    for (const watcher of this.#watchers) watcher();
    this.#tellFilled(wakes);
    if (this.waiters.count === 0 && this.#others.length === 0) return; // nothing to notify
    this.#tellWords(wakes.flatMap(wordsOf));
  }

  #tellFilled(wakes: readonly Wake[]): void {
    for (const { fills, tenantId, laneId } of wakes)
      if (fills && laneId) this.#onFilled(laneKey(tenantId, laneId));
  }

  #tellWords(words: readonly string[]): void {
    for (const word of words) {
      this.#wake(word);
      if (this.#others.length > 0) this.#toTell.add(word);
    }
    if (this.#toTell.size > 0 && !this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        void this.#tellOthers();
      });
    }
  }

  /** What could not be sent is sent again: waiters at other nodes would wait for it in vain. */
  async #tellOthers(): Promise<void> {
    const words = this.#toTell;
    this.#toTell = new Set();
    if (words.size === 0) return;
    const text = short([...words]);
    try {
      await this.#notify(`from ${this.#nodeId} ${text}`);
    } catch (error) {
      this.#onError(error);
      if (this.#stopped) return;
      for (const word of text.split(',')) this.#toTell.add(word);
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#tellOthers();
      }, RETRY_MS);
    }
  }

  /** In a caller's open transaction: when it commits, the database notifies all nodes, this one too. */
  async tellInside(client: Queryable, wakes: readonly Wake[]): Promise<void> {
    if (wakes.length === 0) return;
    this.#tellFilled(wakes); // a node that hears nothing knows at least this much
    await client.query({
      text: 'select pg_notify($1, $2)',
      values: [this.#channel, short([OF_LIBRARY, ...new Set(wakes.flatMap(wordsOf))])],
    });
  }

  /** Called by housekeeping now and then: a listener that hears nothing is replaced. */
  async checkListener(): Promise<void> {
    if (this.#listener && performance.now() - this.#heardAt > SILENCE_MS) {
      this.#heardAt = performance.now();
      await this.#listener.reconnect();
    }
  }

  /** Notifications sent meanwhile were not heard here, so all waiters look once. */
  #listensAgain(): void {
    this.#heardAt = performance.now();
    this.#onFilled(null);
    this.waiters.wakeAll();
  }

  #hear(payload: string): void {
    this.#heardAt = performance.now();
    const [what = '', node, words = ''] = payload.split(' ');
    const isOurs = node === this.#nodeId;
    if (what === 'tick') return;
    if (node === undefined) this.#heardAlone(what);
    for (const watcher of this.#watchers) watcher();
    if (node === undefined) this.#wakeEach(what);
    else if (what === 'from' && !isOurs) this.#wakeEach(words);
    else if (what === 'known' && isOurs) this.waiters.wakeAll();
    else if (what === 'node' && !isOurs) this.#welcome(node);
  }

  #welcome(node: string): void {
    this.#welcomed += 1;
    this.#others = [...this.#others.filter((other) => other !== node), node];
    this.#tellItIsKnown(node);
    this.#onNode();
  }

  /** Commits before this node knew of that one were not announced there: it looks after it receives this. */
  #tellItIsKnown(node: string): void {
    this.#notify(`known ${node}`).catch((error) => {
      this.#others = this.#others.filter((other) => other !== node); // the next count finds it anew
      this.#onError(error);
    });
  }

  /** Words that came without a node. */
  #heardAlone(words: string): void {
    const all = words.split(',');
    if (all[0] === OF_LIBRARY) return;
    for (const word of all) this.#onFilled(word === '*' ? null : word);
  }

  #wakeEach(words: string): void {
    for (const word of words.split(',')) this.#wake(word);
  }

  #wake(word: string): void {
    if (word === '*') this.waiters.wakeAll();
    else if (word.endsWith('*')) this.waiters.wakeAll(Number(word.slice(0, -1)));
    else if (word.endsWith(FILLS)) this.#onFilled(word.slice(0, -1));
    else this.waiters.wake(word);
  }

  async #notify(payload: string): Promise<void> {
    await this.#db.gathered.query({ text: 'select pg_notify($1, $2)', values: [this.#channel, payload] });
  }
}

function short(words: string[]): string {
  const text = words.join(',');
  return text.length > MOST_BYTES ? '*' : text;
}
