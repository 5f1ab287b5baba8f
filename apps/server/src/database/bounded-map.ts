/** A map that forgets what was put in first once it is full: for things that can be looked up again. */
export class BoundedMap<K, V> {
  readonly #map = new Map<K, V>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    if (this.#map.size >= this.#most && !this.#map.has(key)) {
      const first = this.#map.keys().next();
      if (!first.done) this.#map.delete(first.value);
    }
    this.#map.set(key, value);
  }

  delete(key: K): void {
    this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
  }
}
