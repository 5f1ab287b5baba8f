/**
 * A map that drops its oldest entry once it is full: for what can be looked up again. The iterator is kept: a new one passes over
 * the places of all that were dropped before (4.5 µs an entry with 50,000 of them, and half of an enqueue; now 0.3).
 */
export class BoundedMap<K, V> {
  readonly #map = new Map<K, V>();
  readonly #most: number;
  #oldest = this.#map.keys();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  /** Returns what was dropped for it. */
  set(key: K, value: V): V | undefined {
    const dropped = this.#map.size >= this.#most && !this.#map.has(key) ? this.#dropOldest() : undefined;
    this.#map.set(key, value);
    return dropped;
  }

  delete(key: K): void {
    this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
  }

  #dropOldest(): V | undefined {
    let next = this.#oldest.next();
    if (next.done) {
      // it had come to the end of a map that was empty then
      this.#oldest = this.#map.keys();
      next = this.#oldest.next();
    }
    const dropped = this.#map.get(next.value as K);
    this.#map.delete(next.value as K);
    return dropped;
  }
}
