import type { ClaimedAction } from '@muster/engine';
import type { Log } from '../http/logging.ts';

interface Options {
  readonly log: Log;
  /** What is there now, or what comes within its wait. */
  claim(signal: AbortSignal): Promise<readonly ClaimedAction[]>;
  take(claimed: readonly ClaimedAction[]): Promise<void> | void;
  /** Logged once for each series of faults. */
  readonly fault: { readonly text: string; readonly of?: Readonly<Record<string, unknown>> };
}

const LONGEST_PAUSE_MS = 10_000;

/** Internal work: claims what is there, or waits without a query, until it is stopped. */
export class ClaimLoop {
  readonly #options: Options;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #faults = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { claim, fault, log, take } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted)
      try {
        const claimed = await claim(signal);
        if (claimed.length > 0) await take(claimed);
        this.#faults = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#faults += 1;
        if (this.#faults === 1) log.warn({ err: error, ...fault.of }, fault.text);
        await pause(Math.min(100 * 2 ** this.#faults, LONGEST_PAUSE_MS), signal);
      }
  }
}

/** Ends early with the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}
