export interface PlaceLimits {
  /** Requests at once. */
  readonly atOnce: number;
  /** Places for slow requests, and their bytes together; without it there are none. */
  readonly slow?: { readonly places: number; readonly bytes: number } | undefined;
}

export interface Place {
  /** The bytes it counts among the slow ones; null: it is not slow. */
  slowBytes: number | null;
}

/**
 * Places for requests in progress. A request that turns out to be slow leaves its place to others and takes a slow one
 * as soon as one is free: so requests that hang hold up the others only for a moment, but sockets and memory stay
 * bounded.
 */
export class Places {
  readonly #limits: PlaceLimits;
  #taken = 0;
  #slow = 0;
  #slowBytes = 0;
  /** Slow requests still in normal places, oldest first, and the bytes they would count. */
  readonly #waiting = new Map<Place, number>();
  #freed: (() => void) | undefined;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  take(): Place {
    this.#taken += 1;
    return { slowBytes: null };
  }

  /** How many places are free, as soon as there is one. Only one caller waits at a time. */
  async free(): Promise<number> {
    while (this.#taken >= this.#limits.atOnce)
      await new Promise<void>((resolve) => {
        this.#freed = resolve;
      });
    return this.#limits.atOnce - this.#taken;
  }

  turnSlow(place: Place, bytes: number): void {
    if (place.slowBytes !== null || !this.#limits.slow) return;
    this.#waiting.set(place, bytes);
    this.#moveWaiting();
  }

  giveBack(place: Place): void {
    this.#waiting.delete(place);
    if (place.slowBytes === null) this.#leave();
    else {
      this.#slow -= 1;
      this.#slowBytes -= place.slowBytes;
      this.#moveWaiting();
    }
  }

  /** A request that is too large for now does not hold up smaller ones behind it. */
  #moveWaiting(): void {
    const { slow } = this.#limits;
    for (const [place, bytes] of this.#waiting) {
      if (!slow || this.#slow >= slow.places) return;
      if (this.#slowBytes + bytes > slow.bytes) continue;
      this.#waiting.delete(place);
      place.slowBytes = bytes;
      this.#slow += 1;
      this.#slowBytes += bytes;
      this.#leave();
    }
  }

  #leave(): void {
    this.#taken -= 1;
    this.#freed?.();
    this.#freed = undefined;
  }
}
