import type { Touched, Wake } from './transition.ts';

/**
 * Statements whose answer was lost: no caller knows what they did. What they may have made claimable is looked up and
 * woken as soon as the database answers again, and once more after the server must have ended the statement, because
 * it may commit after the connection was lost. There is no look before the database answers: it would only fail.
 */
const RETRY_MS = 1_000;
/** No statement runs longer than this (housekeeping's run 45 s): the server ends it. */
const LATEST_COMMIT_MS = 60_000;
/** With more than this, everything is woken. */
const MOST = 10_000;

export interface LostAnswersOptions<T> {
  /** Wakes what was touched; throws while the database is away. */
  readonly find: (touched: readonly T[]) => Promise<Wake[]>;
  readonly tell: (wakes: readonly Wake[]) => void;
  readonly tellAll: () => void;
}

export class LostAnswers<T = Touched> {
  readonly #options: LostAnswersOptions<T>;
  #touched = new Map<string, T>();
  #everything = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #later = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(options: LostAnswersOptions<T>) {
    this.#options = options;
  }

  add(touched: readonly T[]): void {
    if (this.#stopped || touched.length === 0) return;
    this.#note(touched);
    const later = setTimeout(() => {
      this.#later.delete(later);
      this.#note(touched);
    }, LATEST_COMMIT_MS);
    this.#later.add(later.unref());
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const later of this.#later) clearTimeout(later);
    this.#later.clear();
  }

  #note(touched: readonly T[]): void {
    for (const one of touched) this.#touched.set(JSON.stringify(one), one);
    if (this.#touched.size > MOST) {
      this.#everything = true;
      this.#touched.clear();
    }
    this.#schedule(0);
  }

  #schedule(inMs: number): void {
    if (this.#stopped || this.#timer) return;
    this.#timer = setTimeout(() => {
      void this.#tell().then(() => {
        this.#timer = undefined;
        if (this.#everything || this.#touched.size > 0) this.#schedule(RETRY_MS);
      });
    }, inMs);
    this.#timer.unref();
  }

  async #tell(): Promise<void> {
    const [touched, everything] = [this.#touched, this.#everything];
    this.#touched = new Map();
    this.#everything = false;
    try {
      const wakes = await this.#options.find([...touched.values()]);
      if (everything) this.#options.tellAll();
      else this.#options.tell(wakes);
    } catch {
      // the caller gets this error itself
      for (const [key, one] of touched) this.#touched.set(key, one);
      this.#everything ||= everything;
    }
  }
}
