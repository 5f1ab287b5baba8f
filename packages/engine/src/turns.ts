import { overloaded } from './errors.ts';
import { Line } from './line.ts';

/** With this many waiting for their first turn, the next one is refused at once. */
const MOST_WAITING = 2_000;

/**
 * This many at once, the others in order of arrival; but first tries go before all retries. In one line the 300 that
 * wanted one locked lane kept those that wanted a free one waiting for two seconds.
 */
export class Turns {
  readonly #most: number;
  readonly #first = new Line<() => void>();
  readonly #again = new Line<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(line: 'first' | 'again', until: number, tooLate: () => Error): Promise<void> {
    if (this.#running < this.#most) {
      this.#running += 1;
      return Promise.resolve();
    }
    const waiting = line === 'first' ? this.#first : this.#again;
    if (line === 'first' && waiting.size >= MOST_WAITING) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const place = waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
      const timer = setTimeout(() => {
        waiting.remove(place);
        reject(tooLate());
      }, until - performance.now());
    });
  }

  giveBack(): void {
    const next = this.#first.shift() ?? this.#again.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
