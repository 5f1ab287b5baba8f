/** Waits that grow with every failure in a row, spread so that agents that failed together do not come back together. */
export class Backoff {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(firstMs: number, mostMs: number, random: () => number = Math.random) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#random = random;
  }

  /** Between half of the wait and all of it. */
  next(): number {
    const wait = Math.min(this.#mostMs, this.#firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return wait * (0.5 + this.#random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** Waits, or less if the signal comes. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
