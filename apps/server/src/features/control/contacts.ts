import type { Database } from '@muster/engine';
import { BoundedMap } from '../../bounded-map.ts';
import type { Log } from '../../feature.ts';
import type { ControlQueries } from './queries.ts';

/**
 * When hosts were last heard of. Ten thousand agents come back every 25 seconds; written down is each at most once a
 * minute, all of them in one statement. Nobody waits for it, and a host that is parked costs nothing here.
 */
const AT_MOST_EVERY_MS = 60_000;
const WRITE_AFTER_MS = 1_000;
const MOST = 100_000;
const MOST_PER_STATEMENT = 5_000;

interface Contact {
  readonly tenantId: number;
  readonly hostId: string;
}

export class Contacts {
  readonly #db: Database;
  readonly #queries: ControlQueries;
  readonly #log: Log;
  readonly #written = new BoundedMap<string, number>(MOST);
  #toWrite: Contact[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, queries: ControlQueries, log: Log) {
    this.#db = db;
    this.#queries = queries;
    this.#log = log;
  }

  heardOf(tenantId: number, hostId: string): void {
    const key = `${tenantId}:${hostId}`;
    const now = performance.now();
    const last = this.#written.get(key);
    if (last !== undefined && now - last < AT_MOST_EVERY_MS) return;
    this.#written.set(key, now);
    this.#toWrite.push({ tenantId, hostId });
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }

  /** Whatever is to be written, now. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      while (this.#toWrite.length > 0) {
        const some = this.#toWrite.splice(0, MOST_PER_STATEMENT);
        try {
          await this.#queries.markSeen(this.#db, some);
        } catch (error) {
          for (const { tenantId, hostId } of some) this.#written.delete(`${tenantId}:${hostId}`);
          this.#log.warn({ err: error }, 'The contacts of hosts could not be written down.');
        }
      }
    });
    return this.#writing;
  }
}
