/**
 * A limited number of places, shared by several users. A freed place is handed to the one that waits longest: when all
 * were notified, the busiest took it each time, and the calls of another gatherer waited for seconds.
 */
export class Places {
  readonly #most: number;
  /** Places in use, including those handed over but not yet used. */
  #taken = 0;
  /** In the order in which they began to wait. */
  readonly #waiting = new Set<() => void>();
  readonly #handed = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** False: none is free. `whenFree` is called once as soon as a place is handed over, to be taken or declined. */
  take(whenFree: () => void): boolean {
    if (this.#handed.delete(whenFree)) return true;
    if (this.#taken >= this.#most) {
      this.#waiting.add(whenFree);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  /** Stops waiting; a place already handed over goes to the next. */
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
