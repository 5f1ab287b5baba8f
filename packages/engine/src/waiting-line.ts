/**
 * Waiters for the same lane or runner, the oldest first. A wake-up begins a round: one waiter looks, then the next,
 * until a look shows that nothing is left for the rest. With 300 waiters for one lane, waking all of them sent 300
 * claims for one action.
 *
 * No waiter is missed: one that was looking when the round began has looked too early, and looks again when it returns;
 * one that leaves in the middle of its look passes it on; a wake-up during a look begins a new round, whatever that
 * look finds.
 */

/**
 * What a look means for the others of the line. `nothing`: waiters that ask alike would find nothing either. `taken`:
 * no waiter would find anything, and giving it back wakes again. `unclear`: the next one looks too. `more`: this one
 * found something, so several others may look at once, which is one statement then.
 */
export type Verdict = 'nothing' | 'taken' | 'unclear' | 'more';

/** As many as a statement takes. */
const MOST_AT_ONCE = 500;

export interface Parked {
  /** The last round for which this one need not look any more. */
  round: number;
  readonly alike: string | undefined;
  /** It is parked here; otherwise it is looking. */
  readonly isParked: boolean;
  wake(): void;
}

export class WaitingLine {
  readonly tenantId: number;
  readonly #onEmpty: () => void;
  readonly #waiters = new Set<Parked>();
  round = 0;
  #isOver = true;
  /** Those whose looks answer for the round. */
  #looking: Set<Parked> | undefined;
  /** How many may look at once. */
  #width = 1;
  /** Of the round; most lines never have more than one waiter, and need none of these. */
  #order: Iterator<Parked> | undefined;
  /** They were looking when their turn came. */
  #returned: Parked[] | undefined;
  #nothingFor: Set<string> | undefined;

  constructor(tenantId: number, onEmpty: () => void) {
    this.tenantId = tenantId;
    this.#onEmpty = onEmpty;
  }

  join(waiter: Parked): void {
    this.#waiters.add(waiter);
  }

  wake(): void {
    this.round += 1;
    this.#isOver = false;
    this.#order = this.#waiters.values();
    this.#returned = undefined;
    this.#nothingFor = undefined;
    this.#goOn();
  }

  /** Its look has found nothing for itself, and it waits again. */
  parked(waiter: Parked, verdict: Verdict): void {
    this.#hear(waiter, verdict);
    if (this.#isOver) return;
    if (waiter.round !== this.round) {
      this.#returned ??= [];
      this.#returned.push(waiter);
    }
    this.#goOn();
  }

  left(waiter: Parked, verdict: Verdict): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) {
      this.#onEmpty();
      return;
    }
    this.#hear(waiter, verdict);
    this.#goOn();
  }

  #hear(waiter: Parked, verdict: Verdict): void {
    if (!this.#looking?.delete(waiter)) return;
    if (this.#looking.size === 0) this.#looking = undefined;
    // one more for each that has found something: where all did, twice as many look next
    this.#width = verdict === 'more' ? Math.min(this.#width + 1, MOST_AT_ONCE) : 1;
    if (waiter.round !== this.round) return; // it looked before the last wake-up
    if (verdict === 'taken') this.#isOver = true;
    if (verdict !== 'nothing' || waiter.alike === undefined) return;
    this.#nothingFor ??= new Set();
    this.#nothingFor.add(waiter.alike);
  }

  #goOn(): void {
    while (!this.#isOver && (this.#looking?.size ?? 0) < this.#width) {
      const next = this.#returned?.shift() ?? this.#order?.next().value;
      if (next === undefined) return;
      if (next.round === this.round || !next.isParked) continue;
      next.round = this.round;
      if (next.alike !== undefined && this.#nothingFor?.has(next.alike)) continue;
      this.#looking ??= new Set();
      this.#looking.add(next);
      next.wake();
    }
  }
}
