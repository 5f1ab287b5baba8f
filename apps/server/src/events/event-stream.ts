import { type Engine, EngineError, gather } from '@muster/engine';
import type { Log } from '../http/logging.ts';
import { warnUnlessAway } from '../http/logging.ts';
import { type FeedWish, readFeed } from './read-feed.ts';
import { type Page, RecentEvents } from './recent-events.ts';
import type { StreamEvent } from './stream-event.ts';

interface Options {
  readonly engine: Engine;
  readonly log: Log;
  /** How many events are kept for followers. */
  readonly keep?: number;
}

export interface Followed {
  readonly tenantId: number;
  /** Undefined: from now on. */
  readonly cursor?: string;
  readonly signal: AbortSignal;
}

const KEEP = 10_000;
const PAGE = 1_000;
/**
 * How long after the last look the feed is looked at again without a notification: other nodes send most of them, not
 * all.
 */
const AGAIN_MS = 1_000;
/** Events become visible once all older transactions are over: until then the next looks come sooner. */
const SOON_MS = 10;
const READS_AT_ONCE = 2;
const READ_DEADLINE_MS = 10_000;

/**
 * The live event feed for all followers: streams over HTTP, subscriptions, webhooks. While there are any, one reader
 * per node follows the feed of all tenants. A follower that falls behind, or starts with an old cursor, reads its own
 * pages until it has caught up: nothing is buffered for it, and it holds up no other.
 */
export class EventStream {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #keep: number;
  #followers = 0;
  #recent: Promise<RecentEvents> | undefined;
  readonly #waiting = new Set<() => void>();
  /** Page numbers go on rising, even when the feed is restarted. */
  #pages = 0;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #again = false;
  #waitMs = SOON_MS;
  readonly #read: (of: { tenantId: number; cursor: string }) => Promise<Page & { more: boolean }>;

  constructor({ engine, log, keep = KEEP }: Options) {
    this.#engine = engine;
    this.#log = log;
    this.#keep = keep;
    this.#read = gather({
      name: 'feed',
      inFlightAtOnce: READS_AT_ONCE,
      deadlineMs: READ_DEADLINE_MS,
      run: async (items: readonly { tenantId: number; cursor: string }[]) => {
        const pages: (Page & { more: boolean })[] = [];
        for (const item of items) pages.push(await this.page(item));
        return pages;
      },
    });
  }

  get followers(): number {
    return this.#followers;
  }

  /** Reads one page directly. */
  page(of: FeedWish) {
    return readFeed(this.#engine, this.#engine.db, { limit: PAGE, ...of });
  }

  /** All events of the tenant after the cursor, as they come; empty pages among them move the cursor on. */
  async *follow({ tenantId, cursor, signal }: Followed): AsyncGenerator<Page, void, undefined> {
    this.#followers += 1;
    try {
      this.#recent ??= this.#begin();
      let at = cursor ?? (await this.#recent).cursor;
      let next: number | null = null;
      while (!signal.aborted) {
        const recent: RecentEvents = await this.#recent;
        const found: Page | null = next === null ? null : recent.page(next, tenantId);
        if (next !== null && found) {
          next += 1;
          at = found.cursor;
          yield found;
        } else if (next !== null && next === recent.next) await this.#newsOr(signal);
        else {
          const behind = recent.behind(at, tenantId);
          if (behind) {
            next = behind.next;
            if (behind.events.length > 0)
              yield { events: behind.events, cursor: (behind.events.at(-1) as StreamEvent).cursor };
            continue;
          }
          next = null;
          const pagesBefore: number = recent.next;
          const page = await this.#read({ tenantId, cursor: at });
          at = page.cursor;
          yield page;
          // ahead of the reader: its next page will reach this point and wake this follower
          if (!page.more && recent.next === pagesBefore && recent.behind(at, tenantId) === null)
            await this.#newsOr(signal);
        }
      }
    } finally {
      this.#followers -= 1;
      if (this.#followers === 0) this.#end();
    }
  }

  async #begin(): Promise<RecentEvents> {
    this.#unwatch = this.#engine.watchFeed(() => {
      this.#waitMs = SOON_MS;
      this.#look();
    });
    try {
      const start = await this.#engine.feed.cursor(this.#engine.db, 'end');
      this.#later();
      this.#pages += 1;
      return new RecentEvents(start, this.#pages, this.#keep);
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#recent = undefined;
  }

  /** One read at a time; notifications meanwhile lead to one more. */
  #look(): void {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    if (!this.#recent) return;
    this.#reading = true;
    this.#again = false;
    setImmediate(() => void this.#readOn(this.#recent));
  }

  async #readOn(recent: Promise<RecentEvents> | undefined): Promise<void> {
    let hasMore = false;
    try {
      const known = await recent;
      if (known && this.#recent === recent) {
        const page = await this.page({ cursor: known.cursor });
        if (page.cursor !== known.cursor) {
          known.add(page);
          this.#pages = known.next;
          this.#waitMs = SOON_MS;
          this.#tell();
        }
        hasMore = page.more;
      }
    } catch (error) {
      if (error instanceof EngineError && error.code === 'MUSTER_OTHER_INCARNATION') this.#beginAnew();
      // when the last follower has gone, as in a stop, no one waits for this read
      else if (this.#recent === recent)
        this.#log[warnUnlessAway(error)]({ err: error }, 'The event feed could not be read; trying again.');
      this.#waitMs = AGAIN_MS;
    }
    this.#reading = false;
    if (!this.#recent) return;
    if (hasMore || this.#again) this.#look();
    else this.#later();
  }

  /** The database was restored: followers notice it with their own next read. */
  #beginAnew(): void {
    this.#end();
    if (this.#followers > 0) this.#recent = this.#begin();
    this.#tell();
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#waitMs = Math.min(2 * this.#waitMs, AGAIN_MS);
      this.#look();
    }, this.#waitMs);
    this.#timer.unref();
  }

  #tell(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #newsOr(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
