import { MusterError } from '@muster/client';

/**
 * Everything the fleet does over time: ends it all at once, and waits for requests in progress. Requests that the
 * server refuses are faults of the fleet and reported; a busy or stopping server is not.
 */
export class Rhythm {
  readonly #onFault: (text: string) => void;
  readonly #longPolls = new Set<AbortController>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #naps = new Set<() => void>();
  #isOver = false;

  constructor(onFault: (text: string) => void) {
    this.#onFault = onFault;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * A request that may wait: it ends with everything else. Each has its own signal, because `fetch` never releases one.
   */
  async waiting<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    this.#longPolls.add(controller);
    try {
      return await ask(controller.signal);
    } finally {
      this.#longPolls.delete(controller);
    }
  }

  /** Shorter if everything ends. */
  pause(ms: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const over = () => {
        clearTimeout(timer);
        this.#naps.delete(over);
        resolve();
      };
      const timer = setTimeout(over, ms);
      this.#naps.add(over);
    });
  }

  after(ms: number, act: () => Promise<unknown>): void {
    this.#do(async () => {
      await this.pause(ms);
      if (!this.#isOver) await this.attempt(act);
    });
  }

  /** Runs again this long after the last run has ended. */
  every(gapMs: () => number, act: () => Promise<unknown>): void {
    this.#do(async () => {
      for (;;) {
        await this.pause(gapMs());
        if (this.#isOver) return;
        await this.attempt(act);
      }
    });
  }

  /** Undefined if it failed. */
  async attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if (this.#isOver || isPassing(error)) return undefined;
      this.#onFault(error instanceof Error ? `${error.message}` : String(error));
      return undefined;
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const controller of this.#longPolls) controller.abort();
    for (const wake of [...this.#naps]) wake();
    await Promise.all(this.#underWay);
  }

  #do(work: () => Promise<void>): void {
    const running = work().finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }
}

const isPassing = (error: unknown) =>
  error instanceof MusterError ? error.status === 429 || error.status >= 500 : error instanceof TypeError;
