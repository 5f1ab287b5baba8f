import { BoundedMap } from '../bounded-map.ts';
import type { Log } from '../http/logging.ts';

/**
 * When devices, hosts or PCs were last heard of. Each is written down at most every so often, with all others that came
 * meanwhile, in one statement: a hundred thousand of them do not cost a hundred thousand updates, nobody waits for it, and
 * it is the only thing that a crash may lose. Reads on this node see it at once.
 */
export interface Contact {
  readonly tenantId: number;
  readonly id: string;
  readonly at: Date;
}

interface Options {
  readonly log: Log;
  readonly now: () => Date;
  /** How far what is stored may lag behind. */
  readonly everyMs: number;
  /** In one statement; ids are distinct and in order. */
  readonly store: (contacts: readonly Contact[]) => Promise<void>;
}

const WRITE_AFTER_MS = 1_000;
const MOST_KNOWN = 100_000;
const MOST_PER_STATEMENT = 5_000;

export class Contacts {
  readonly #options: Options;
  /** The last contact of each, and the last that was written down or is about to be. */
  readonly #seen = new BoundedMap<string, { at: number; noted: number }>(MOST_KNOWN);
  #unwritten = new Map<string, Contact>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  heardOf(tenantId: number, id: string): void {
    const key = `${tenantId}:${id}`;
    const now = this.#options.now().getTime();
    const noted = this.#seen.get(key)?.noted;
    const isNoted = noted !== undefined && now - noted < this.#options.everyMs;
    this.#seen.set(key, { at: now, noted: isNoted ? noted : now });
    if (isNoted) return;
    this.#unwritten.set(key, { tenantId, id, at: new Date(now) });
    this.#later();
  }

  /** The later of what is stored and what this node knows. */
  latest(tenantId: number, id: string, stored: Date | null): Date | null {
    const at = this.#seen.get(`${tenantId}:${id}`)?.at;
    return at !== undefined && at > (stored?.getTime() ?? 0) ? new Date(at) : stored;
  }

  /** Whatever is to be written, now; what cannot be written now is written next time. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const toWrite = this.#unwritten;
    if (toWrite.size === 0) return this.#writing;
    this.#unwritten = new Map();
    this.#writing = this.#writing.then(async () => {
      // in one order for all nodes, so that two that write the same contacts cannot wait for each other
      const contacts = [...toWrite].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, contact]) => contact);
      try {
        for (let from = 0; from < contacts.length; from += MOST_PER_STATEMENT)
          await this.#options.store(contacts.slice(from, from + MOST_PER_STATEMENT));
      } catch (error) {
        this.#options.log.warn({ err: error }, 'The last contacts could not be written; trying again.');
        for (const [key, contact] of toWrite)
          if (!this.#unwritten.has(key)) this.#unwritten.set(key, contact);
        this.#later();
      }
    });
    return this.#writing;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }
}
