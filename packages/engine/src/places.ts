/**
 * So many at a time, shared by several. A freed place is handed to the one that waits longest and to nobody else: told to
 * all of them, the busiest took it each time, and the calls of another gatherer waited for seconds.
 */
export class Places {
  readonly #most: number;
  /** Those that are handed over but not yet used among them. */
  #taken = 0;
  /** In the order in which they began to wait. */
  readonly #waiting = new Set<() => void>();
  readonly #handed = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** False: none is free. `whenFree` is called once as soon as one is handed over, to be taken or declined. */
  take(whenFree: () => void): boolean {
    if (this.#handed.delete(whenFree)) return true;
    if (this.#taken >= this.#most) {
      this.#waiting.add(whenFree);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  /** He waits no longer, and what was handed to him goes to the next. */
  decline(whenFree: () => void): void {
    this.#waiting.delete(whenFree);
    if (this.#handed.delete(whenFree)) this.free();
  }

  free(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    this.#handed.add(next);
    next();
  }
}
