import type { Engine } from '@muster/engine';
import { pause } from '../../claiming/claim-loop.ts';
import type { Log } from '../../http/logging.ts';
import { warnUnlessAway } from '../../http/logging.ts';
import type { WebhookKey } from './queries.ts';
import type { Reading } from './reading.ts';

/** Events become visible once all older transactions are over: until then the next looks come sooner. */
const SOON_MS = 20;
const AGAIN_MS = 1_000;
/** How soon a node notices the first webhook, or a resumed one, if another node changed it. */
const NOBODY_MS = 5_000;

/**
 * Reads the feed for webhooks. It runs on every node; the first to take the lock reads. Without webhooks it looks every
 * five seconds.
 */
export class Reader {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #reading: Reading;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #wake = new AbortController();
  #hasNews = false;
  #unwatch: (() => void) | undefined;
  #isNeeded = true;

  constructor({ engine, log, reading }: { engine: Engine; log: Log; reading: Reading }) {
    this.#engine = engine;
    this.#log = log;
    this.#reading = reading;
  }

  start(): void {
    this.#unwatch = this.#engine.watchFeed(() => this.#isNeeded && this.wake());
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
    this.#stop.abort();
    this.wake();
    await this.#running;
  }

  /** There may be something to do. */
  wake(): void {
    this.#hasNews = true;
    this.#wake.abort();
  }

  async #run(): Promise<void> {
    let waitMs = SOON_MS;
    let after: WebhookKey | null = null;
    while (!this.#stop.signal.aborted) {
      this.#hasNews = false;
      let isMore = false;
      try {
        const read = await this.#reading.readOn();
        const behind = await this.#reading.catchUpNext(after);
        after = behind?.of ?? null;
        this.#isNeeded = read !== 'nobody' || behind !== null;
        isMore = read === 'more' || behind?.isMore === true;
      } catch (error) {
        if (!this.#stop.signal.aborted)
          this.#log[warnUnlessAway(error)](
            { err: error },
            'The event feed could not be read for webhooks; trying again.',
          );
        waitMs = AGAIN_MS;
      }
      if (isMore || this.#hasNews) waitMs = SOON_MS;
      // events come in bursts: one look for all of a moment
      if (!isMore) await this.#rest(this.#isNeeded ? waitMs : NOBODY_MS);
      waitMs = Math.min(2 * waitMs, AGAIN_MS);
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#hasNews) return pause(Math.min(ms, SOON_MS), this.#stop.signal);
    this.#wake = new AbortController();
    await pause(ms, this.#wake.signal);
  }
}
