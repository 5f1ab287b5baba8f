import { TickHeap } from './tick-heap.ts';
import { type Parked, type Verdict, WaitingLine } from './waiting-line.ts';

/**
 * Parked calls: a small object each, no query, no connection, no timer of its own. One timer, set to the earliest end,
 * serves all of them. A waiter registers before it looks, so nothing that happens in between is missed. Waiters for the
 * same thing stand in a line and are woken one after the other.
 */
const TICK_MS = 1;
/** Waits end a little earlier than requested: the timer may be late, and a wait never exceeds the request. */
const MARGIN = 0.01;
/** And by up to this much more, so that clients that began together do not come back together. */
const SPREAD = 0.05;

export interface Waiter {
  /**
   * Called after a look. True: something may be claimable, look again. False: the time is over, or the caller is gone.
   */
  next(verdict: Verdict): Promise<boolean>;
  /** Ends the wait now, e.g. because something was found, or the socket is closed. */
  end(verdict?: Verdict): void;
}

class ParkedWaiter implements Waiter, Parked {
  readonly alike: string | undefined;
  readonly line: WaitingLine;
  readonly until: number;
  readonly #counter: { parked: number };
  readonly #onEnd: (waiter: ParkedWaiter) => void;
  #ended = false;
  #resolve: ((again: boolean) => void) | undefined;
  round: number;

  constructor(
    line: WaitingLine,
    alike: string | undefined,
    until: number,
    counter: { parked: number },
    onEnd: (waiter: ParkedWaiter) => void,
  ) {
    this.line = line;
    this.alike = alike;
    this.until = until;
    this.#counter = counter;
    this.#onEnd = onEnd;
    this.round = line.round;
  }

  get isParked(): boolean {
    return this.#resolve !== undefined;
  }

  next(verdict: Verdict): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    const again = new Promise<boolean>((resolve) => {
      this.#resolve = resolve;
    });
    this.#counter.parked += 1;
    this.line.parked(this, verdict);
    return again;
  }

  wake(): void {
    this.#settle(true);
  }

  end(verdict: Verdict = 'unclear'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#settle(false);
    this.#onEnd(this);
    this.line.left(this, verdict);
  }

  #settle(again: boolean): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    if (resolve) this.#counter.parked -= 1;
    resolve?.(again);
  }
}

export class Waiters {
  readonly #most: number;
  readonly #lines = new Map<string, WaitingLine>();
  /** Waiters by the tick in which their time is over. */
  readonly #byTick = new Map<number, Set<ParkedWaiter>>();
  readonly #ticks = new TickHeap();
  readonly #counter = { parked: 0 };
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerTick = Number.POSITIVE_INFINITY;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** Without those that are looking at the moment. */
  get parked(): number {
    return this.#counter.parked;
  }

  /** Null: too many are waiting. Waiters with an equal `alike` ask for the same, so one answers for all. */
  add(key: string, tenantId: number, waitMs: number, alike?: string): Waiter | null {
    if (this.#count >= this.#most) return null;
    const until = tickOf(performance.now() + waitMs * (1 - MARGIN - SPREAD * Math.random()));
    let line = this.#lines.get(key);
    if (!line) {
      line = new WaitingLine(tenantId, () => this.#lines.delete(key));
      this.#lines.set(key, line);
    }
    const waiter = new ParkedWaiter(line, alike, until, this.#counter, (ended) => this.#remove(ended));
    line.join(waiter);
    const ending = this.#byTick.get(until);
    if (ending) ending.add(waiter);
    else this.#byTick.set(until, new Set([waiter]));
    this.#ticks.add(until);
    this.#count += 1;
    this.#setTimer();
    return waiter;
  }

  wake(key: string): void {
    this.#lines.get(key)?.wake();
  }

  /** Every line, or every line of a tenant: after a resume, or when news was lost or too long to send. */
  wakeAll(tenantId?: number): void {
    for (const line of this.#lines.values())
      if (tenantId === undefined || line.tenantId === tenantId) line.wake();
  }

  endAll(): void {
    for (const waiting of [...this.#byTick.values()]) for (const waiter of [...waiting]) waiter.end();
  }

  /** Ends waiters whose time is over. */
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
    const ending = this.#byTick.get(waiter.until);
    ending?.delete(waiter);
    if (ending?.size === 0) this.#byTick.delete(waiter.until);
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
