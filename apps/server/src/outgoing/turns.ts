/** A limited number at once; the others wait in order. A turn that ends goes to the first in line. */
export class Turns {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Resolves to a function that gives the turn back, once however often it is called. A caller that stops waiting
   * leaves the line.
   */
  take(signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#waiting.delete(begin);
        reject(signal?.reason as Error);
      };
      const begin = () => {
        signal?.removeEventListener('abort', stop);
        this.#running += 1;
        resolve(this.#giveBack());
      };
      if (signal?.aborted) return stop();
      if (this.#running < this.#most) return begin();
      this.#waiting.add(begin);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  #giveBack(): () => void {
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      this.#running -= 1;
      const [next] = this.#waiting;
      if (!next) return;
      this.#waiting.delete(next);
      next();
    };
  }
}
