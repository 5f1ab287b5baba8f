import type { Wake } from './context.ts';
import type { Database, Listener, Queryable } from './db.ts';
import { Waiters } from './waiters.ts';

/**
 * Tells those who wait that something may be claimable: on this node directly, on others by one notification per turn.
 * While no other node is alive nothing is sent at all. Words: `1:42` a lane of tenant 1, `1r7` a runner, `1*`
 * everything of the tenant, `*` everything, `tick` from the leader, `node` when one has come.
 */
const MOST_BYTES = 7_000;
const SILENCE_MS = 10_000;

export function laneKey(tenantId: number, laneId: string): string {
  return `${tenantId}:${laneId}`;
}

export function runnerKey(tenantId: number, runnerId: string): string {
  return `${tenantId}r${runnerId}`;
}

function wordsOf(wake: Wake): string[] {
  const words: string[] = [];
  if (wake.laneId) words.push(laneKey(wake.tenantId, wake.laneId));
  if (wake.runnerId) words.push(runnerKey(wake.tenantId, wake.runnerId));
  return words.length > 0 ? words : [`${wake.tenantId}*`];
}

export class WakeUps {
  readonly waiters = new Waiters();
  /** How many nodes are alive, this one included; kept up to date by housekeeping. */
  nodes = 1;
  readonly #db: Database;
  readonly #channel: string;
  readonly #onError: (error: unknown) => void;
  readonly #onNode: () => void;
  #listener: Listener | undefined;
  #heardAt = 0;
  #toTell = new Set<string>();
  #scheduled = false;

  constructor(
    db: Database,
    options: { channel: string; onError: (error: unknown) => void; onNode: () => void },
  ) {
    this.#db = db;
    this.#channel = options.channel;
    this.#onError = options.onError;
    this.#onNode = options.onNode;
  }

  async start(): Promise<void> {
    this.#heardAt = performance.now();
    this.#listener = await this.#db.listen(this.#channel, (payload) => this.#hear(payload));
  }

  /** A node has come. */
  async announce(): Promise<void> {
    await this.#notify('node');
  }

  async stop(): Promise<void> {
    this.waiters.endAll();
    await this.#listener?.close();
    this.#listener = undefined;
  }

  /** After a commit of our own. */
  tell(wakes: readonly Wake[]): void {
    for (const wake of wakes)
      for (const word of wordsOf(wake)) {
        this.#wake(word);
        if (this.nodes > 1) this.#toTell.add(word);
      }
    if (this.#toTell.size > 0 && !this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        const words = [...this.#toTell];
        this.#toTell.clear();
        this.#notify(short(words)).catch(this.#onError);
      });
    }
  }

  /** In somebody's open transaction: the database tells everybody, this node too, when it commits. */
  async tellInside(client: Queryable, wakes: readonly Wake[]): Promise<void> {
    if (wakes.length === 0) return;
    await client.query({
      text: 'select pg_notify($1, $2)',
      values: [this.#channel, short([...new Set(wakes.flatMap(wordsOf))])],
    });
  }

  /** Called by housekeeping now and then: a listener that hears nothing is replaced, and everybody looks once. */
  async checkListener(): Promise<void> {
    if (this.#listener && performance.now() - this.#heardAt > SILENCE_MS) {
      this.#heardAt = performance.now();
      await this.#listener.reconnect();
      this.waiters.wakeAll();
    }
  }

  #hear(payload: string): void {
    this.#heardAt = performance.now();
    if (payload === 'tick') return;
    if (payload === 'node') this.#welcome();
    else for (const word of payload.split(',')) this.#wake(word);
  }

  /** What was committed before this node heard of the new one was told to nobody: the new one looks again. */
  #welcome(): void {
    this.nodes = Math.max(this.nodes, 2);
    this.#onNode();
    this.#notify('*').catch(this.#onError);
  }

  #wake(word: string): void {
    if (word === '*') this.waiters.wakeAll();
    else if (word.endsWith('*')) this.waiters.wakeAll(Number(word.slice(0, -1)));
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
