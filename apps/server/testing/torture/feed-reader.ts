import { setTimeout as pause } from 'node:timers/promises';
import type { FeedPage } from '@muster/engine';

/**
 * Reads the event feed during the whole test with one cursor, whatever crashes meanwhile. A page that did not arrive is requested
 * again with the same cursor.
 */
export interface SeenEvent {
  readonly eventId: string;
  readonly actionId: string | null;
  readonly type: string;
}

export type ReadFeed = (
  /** Undefined: from the start. */
  cursor: string | undefined,
  limit: number,
) => Promise<Pick<FeedPage, 'cursor' | 'more'> & { events: readonly SeenEvent[] }>;

const PAGE = 50;
const BETWEEN_MS = 15;
const MOST_TRIES = 2_000;

export class FeedReader {
  readonly seen: SeenEvent[] = [];
  pages = 0;
  readonly #read: ReadFeed;
  #cursor: string | undefined;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(read: ReadFeed) {
    this.#read = read;
    this.#done = this.#run();
  }

  /** Reads the rest; everything must be committed or rolled back by now. */
  async finish(): Promise<void> {
    this.#stopped = true;
    await this.#done;
    let tries = 0;
    for (let empty = 0; empty < 2; ) {
      const found = await this.#next();
      if (found === null) tries += 1;
      if (tries > MOST_TRIES) throw new Error('The feed cannot be read any more.');
      empty = found === 0 ? empty + 1 : 0;
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const found = await this.#next();
      if (!found) await pause(BETWEEN_MS);
    }
  }

  async #next(): Promise<number | null> {
    try {
      const page = await this.#read(this.#cursor, PAGE);
      for (const { eventId, actionId, type } of page.events) this.seen.push({ eventId, actionId, type });
      this.#cursor = page.cursor;
      this.pages += 1;
      return page.events.length;
    } catch {
      await pause(BETWEEN_MS);
      return null;
    }
  }
}
