import type { Database } from '@muster/engine';
import type { Log } from '../../feature.ts';

/**
 * When each device was last heard of. Kept in memory and written for all of them at once, at most every five seconds:
 * the only thing that a crash may lose. Reads on this node see it at once.
 */
const EVERY_MS = 5_000;
const MOST_PER_STATEMENT = 5_000;

export class Contacts {
  readonly #db: Database;
  readonly #schema: string;
  readonly #now: () => Date | null;
  readonly #log: Log;
  #unwritten = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, schema: string, now: () => Date | null, log: Log) {
    this.#db = db;
    this.#schema = schema;
    this.#now = now;
    this.#log = log;
  }

  touch(tenantId: number, deviceId: string): void {
    this.#unwritten.set(`${tenantId}:${deviceId}`, this.#now()?.getTime() ?? Date.now());
    this.#timer ??= setTimeout(() => void this.write(), EVERY_MS).unref();
  }

  /** The later of what is stored and what is not yet. */
  latest(tenantId: number, deviceId: string, stored: Date | null): Date | null {
    const at = this.#unwritten.get(`${tenantId}:${deviceId}`);
    return at !== undefined && at > (stored?.getTime() ?? 0) ? new Date(at) : stored;
  }

  /** Writes what has come together; what cannot be written now is written next time. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const toWrite = this.#unwritten;
    if (toWrite.size === 0) return this.#writing;
    this.#unwritten = new Map();
    this.#writing = this.#writing.then(async () => {
      const rows = [...toWrite].sort(([a], [b]) => (a < b ? -1 : 1));
      try {
        for (let from = 0; from < rows.length; from += MOST_PER_STATEMENT)
          await this.#insert(rows.slice(from, from + MOST_PER_STATEMENT));
      } catch (error) {
        this.#log.warn({ err: error }, 'The last contacts could not be written; trying again.');
        for (const [key, at] of rows) if (!this.#unwritten.has(key)) this.#unwritten.set(key, at);
        this.#timer ??= setTimeout(() => void this.write(), EVERY_MS).unref();
      }
    });
    return this.#writing;
  }

  async #insert(rows: readonly [key: string, at: number][]): Promise<void> {
    const s = this.#schema;
    const keys = rows.map(([key]) => key.split(':') as [string, string]);
    await this.#db.query({
      name: 'muster_contacts',
      text: `insert into ${s}.device_contacts as c (tenant_id, device_id, seen_at)
        select * from unnest($1::int[], $2::bigint[], $3::timestamptz[])
        on conflict (tenant_id, device_id) do update set seen_at = excluded.seen_at where c.seen_at < excluded.seen_at`,
      values: [
        keys.map(([tenantId]) => Number(tenantId)),
        keys.map(([, deviceId]) => deviceId),
        rows.map(([, at]) => new Date(at)),
      ],
    });
  }
}
