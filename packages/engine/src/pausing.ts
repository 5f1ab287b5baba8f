import { Line } from './line.ts';

/**
 * Items that wait for a moment, grouped by duration: each group is in the order of time, so nothing is sorted or
 * searched.
 */
interface Paused<T> {
  readonly value: T;
  readonly until: number;
}

export class Pausing<T> {
  readonly #lines = new Map<number, Line<Paused<T>>>();

  /** Returns until when, and how to leave before. */
  add(value: T, ms: number): { until: number; leave: () => void } {
    const line = this.#lines.get(ms) ?? new Line();
    this.#lines.set(ms, line);
    const until = performance.now() + ms;
    const place = line.push({ value, until });
    return { until, leave: () => line.remove(place) };
  }

  /** Takes out every item that has waited long enough. */
  *due(now: number): Generator<T> {
    for (const line of this.#lines.values())
      for (let first = line.first; first && first.until <= now; first = line.first) {
        line.shift();
        yield first.value;
      }
  }

  /** Infinite if nothing waits. */
  get next(): number {
    return Math.min(
      ...[...this.#lines.values()].map((line) => line.first?.until ?? Number.POSITIVE_INFINITY),
    );
  }
}
