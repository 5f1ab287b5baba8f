import type { StreamEvent } from './stream-event.ts';

/** One read of the feed, with the cursor after it. */
export interface Page {
  readonly events: readonly StreamEvent[];
  readonly cursor: string;
}

interface Kept extends Page {
  readonly ofTenant: ReadonlyMap<number, readonly StreamEvent[]>;
}

const NOTHING: readonly StreamEvent[] = [];

/**
 * The newest events of all tenants, so a thousand followers cost one read of the feed. A follower that knows the number
 * of its last page continues from there; one with a cursor continues here if the cursor is kept, and otherwise reads
 * for itself. Cursors are only compared, never parsed.
 */
export class RecentEvents {
  readonly #most: number;
  #pages: Kept[] = [];
  #first: number;
  #count = 0;
  /** The position of each kept event: the number of its page, and how many of the page come up to it. */
  readonly #places = new Map<string, { page: number; count: number }>();
  #start: string;

  constructor(start: string, firstPage: number, most: number) {
    this.#start = start;
    this.#first = firstPage;
    this.#most = most;
  }

  /** The number of the next page. */
  get next(): number {
    return this.#first + this.#pages.length;
  }

  get cursor(): string {
    return this.#pages.at(-1)?.cursor ?? this.#start;
  }

  add({ events, cursor }: Page): void {
    const ofTenant = new Map<number, StreamEvent[]>();
    const page = this.next;
    events.forEach((event, n) => {
      const same = ofTenant.get(event.tenantId);
      if (same) same.push(event);
      else ofTenant.set(event.tenantId, [event]);
      this.#places.set(event.cursor, { page, count: n + 1 });
    });
    this.#pages.push({ events, cursor, ofTenant });
    this.#count += events.length;
    while (this.#count > this.#most && this.#pages.length > 1) this.#forgetFirst();
  }

  /** What follows the cursor, and the number of the page after it; null: the cursor is not kept. */
  behind(cursor: string, tenantId: number): { events: readonly StreamEvent[]; next: number } | null {
    if (cursor === this.#start) return { events: NOTHING, next: this.#first };
    const place = this.#places.get(cursor);
    if (!place) return null;
    const page = this.#pages[place.page - this.#first] as Kept;
    const events = page.events.slice(place.count).filter((event) => event.tenantId === tenantId);
    return { events, next: place.page + 1 };
  }

  /** A page for one tenant; null: no longer kept. */
  page(number: number, tenantId: number): Page | null {
    const page = this.#pages[number - this.#first];
    return page ? { events: page.ofTenant.get(tenantId) ?? NOTHING, cursor: page.cursor } : null;
  }

  #forgetFirst(): void {
    const page = this.#pages.shift() as Kept;
    this.#first += 1;
    this.#start = page.cursor;
    this.#count -= page.events.length;
    for (const event of page.events) this.#places.delete(event.cursor);
  }
}
