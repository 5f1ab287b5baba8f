/** So many at a time, shared by several who are told when one is free again. */
export class Places {
  readonly #most: number;
  #taken = 0;
  #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** False: none is free, and `whenFree` is called as soon as one is. */
  take(whenFree: () => void): boolean {
    if (this.#taken >= this.#most) {
      this.#waiting.add(whenFree);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  free(): void {
    this.#taken -= 1;
    const told = this.#waiting;
    this.#waiting = new Set();
    for (const tell of told) tell();
  }
}
