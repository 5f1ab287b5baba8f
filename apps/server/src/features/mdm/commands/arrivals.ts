import type { Database, Queryable } from '@muster/engine';
import { isTransaction } from '@muster/engine';

/**
 * Wakes held connections of phones when a command arrives, on any node. Notifications may be lost, so a waiting
 * connection looks again at the end of its time.
 */
export class Arrivals {
  readonly #channel: string;
  readonly #db: Database;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(db: Database, schema: string) {
    this.#db = db;
    this.#channel = `${schema}_mdm_commands`;
  }

  async start(): Promise<{ stop(): Promise<void> }> {
    const listener = await this.#db.listen(this.#channel, (word) => this.#wake(word));
    return { stop: () => listener.close() };
  }

  /** When this transaction commits, something is there for these phones. */
  async tell(tx: Queryable, tenantId: number, udids: readonly string[]): Promise<void> {
    const words = [...new Set(udids)].map((udid) => `${tenantId}:${udid}`);
    if (words.length === 0) return;
    await tx.query({
      text: 'select pg_notify($1, w) from unnest($2::text[]) w',
      values: [this.#channel, words],
    });
    // this node need not wait for the notification
    if (isTransaction(tx))
      tx.afterCommit(() => {
        for (const word of words) this.#wake(word);
      });
  }

  /** Returns a function that ends the wait. */
  wait(tenantId: number, udid: string, wake: () => void): () => void {
    const word = `${tenantId}:${udid}`;
    const same = this.#waiting.get(word) ?? new Set();
    same.add(wake);
    this.#waiting.set(word, same);
    return () => {
      same.delete(wake);
      if (same.size === 0) this.#waiting.delete(word);
    };
  }

  #wake(word: string): void {
    for (const wake of [...(this.#waiting.get(word) ?? [])]) wake();
  }
}
