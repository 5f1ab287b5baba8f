import { TickHeap } from './tick-heap.ts';

/**
 * Parked calls: a small object each, no query, no connection, no timer of its own. One timer, set to whoever's time is
 * over first, serves all of them. A waiter registers before it looks, so nothing that happens in between is missed.
 */
const TICK_MS = 1;
/** Waits end a little earlier than asked: the timer may come late, and a wait is never longer than asked. */
const MARGIN = 0.01;
/** And up to so much earlier, so that clients that began together do not come back together. */
const SPREAD = 0.05;

export interface Waiter {
  /** True: something may be claimable, look again. False: the time is over, or the caller is gone. */
  next(): Promise<boolean>;
  /** Ends the wait now, e.g. because the socket is gone. */
  end(): void;
}

class ParkedWaiter implements Waiter {
  readonly keys: readonly string[];
  readonly tenantId: number;
  readonly until: number;
  readonly #onEnd: (waiter: ParkedWaiter) => void;
  #woken = false;
  #ended = false;
  #resolve: ((again: boolean) => void) | undefined;

  constructor(
    keys: readonly string[],
    tenantId: number,
    until: number,
    onEnd: (waiter: ParkedWaiter) => void,
  ) {
    this.keys = keys;
    this.tenantId = tenantId;
    this.until = until;
    this.#onEnd = onEnd;
  }

  next(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    if (this.#woken) {
      this.#woken = false;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    if (this.#resolve) this.#settle(true);
    else this.#woken = true;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this);
    this.#settle(false);
  }

  #settle(again: boolean): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(again);
  }
}

export class Waiters {
  readonly #byKey = new Map<string, Set<ParkedWaiter>>();
  /** Waiters by the tick in which their time is over. */
  readonly #byTick = new Map<number, Set<ParkedWaiter>>();
  readonly #ticks = new TickHeap();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerTick = Number.POSITIVE_INFINITY;

  get count(): number {
    return this.#count;
  }

  add(keys: readonly string[], tenantId: number, waitMs: number): Waiter {
    const until = tickOf(performance.now() + waitMs * (1 - MARGIN - SPREAD * Math.random()));
    const waiter = new ParkedWaiter(keys, tenantId, until, (ended) => this.#remove(ended));
    for (const key of keys) insert(this.#byKey, key, waiter);
    insert(this.#byTick, waiter.until, waiter);
    this.#ticks.add(waiter.until);
    this.#count += 1;
    this.#setTimer();
    return waiter;
  }

  wake(key: string): void {
    const waiting = this.#byKey.get(key);
    if (waiting) for (const waiter of waiting) waiter.wake();
  }

  /** Everybody, or everybody of a tenant: a resume, or news too long to tell. */
  wakeAll(tenantId?: number): void {
    for (const waiting of this.#byKey.values())
      for (const waiter of waiting) if (tenantId === undefined || waiter.tenantId === tenantId) waiter.wake();
  }

  endAll(): void {
    for (const waiting of [...this.#byTick.values()]) for (const waiter of [...waiting]) waiter.end();
  }

  /** Ends those whose time is over. */
  #tick(): void {
    this.#timerTick = Number.POSITIVE_INFINITY;
    const now = tickOf(performance.now());
    for (let tick = this.#ticks.first; tick <= now; tick = this.#ticks.first) {
      this.#ticks.removeFirst();
      for (const waiter of [...(this.#byTick.get(tick) ?? [])]) waiter.end();
    }
    this.#setTimer();
  }

  #setTimer(): void {
    const first = this.#ticks.first;
    if (this.#count === 0 || first >= this.#timerTick) return;
    clearTimeout(this.#timer);
    this.#timerTick = first;
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, Math.ceil(first * TICK_MS - performance.now())));
  }

  #remove(waiter: ParkedWaiter): void {
    for (const key of waiter.keys) remove(this.#byKey, key, waiter);
    remove(this.#byTick, waiter.until, waiter);
    this.#count -= 1;
    if (this.#count === 0) {
      clearTimeout(this.#timer);
      this.#timerTick = Number.POSITIVE_INFINITY;
      this.#ticks.clear();
    }
  }
}

/** The last tick that is not later than that moment. */
function tickOf(ms: number): number {
  return Math.floor(ms / TICK_MS);
}

function insert<K>(map: Map<K, Set<ParkedWaiter>>, key: K, waiter: ParkedWaiter): void {
  const set = map.get(key);
  if (set) set.add(waiter);
  else map.set(key, new Set([waiter]));
}

function remove<K>(map: Map<K, Set<ParkedWaiter>>, key: K, waiter: ParkedWaiter): void {
  const set = map.get(key);
  if (!set) return;
  set.delete(waiter);
  if (set.size === 0) map.delete(key);
}
