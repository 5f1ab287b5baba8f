export interface PlaceLimits {
  /** So many requests at once. */
  readonly atOnce: number;
  /** So many more that have waited for their answer for long, and so many bytes of them; without it none. */
  readonly slow?: { readonly places: number; readonly bytes: number } | undefined;
}

export interface Place {
  /** What it counts among the slow ones; null: it is none of them. */
  slowBytes: number | null;
}

/**
 * Places for requests that are under way. One that turns out to be slow leaves its place to others and takes one of those for slow ones, as soon
 * as one is free: so what hangs holds up the rest for a moment only, and there is an end to sockets and memory all the same.
 */
export class Places {
  readonly #limits: PlaceLimits;
  #taken = 0;
  #slow = 0;
  #slowBytes = 0;
  /** Slow ones in places of others, the oldest first, and what they would count. */
  readonly #waiting = new Map<Place, number>();
  #freed: (() => void) | undefined;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  take(): Place {
    this.#taken += 1;
    return { slowBytes: null };
  }

  /** How many are free, as soon as there is one. One at a time waits for it. */
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

  /** One that is too large for now holds up no smaller one behind it. */
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
