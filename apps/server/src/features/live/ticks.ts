import type { LiveTick } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { Log } from '../../http/logging.ts';
import { VERSION } from '../../http/version.ts';

/** The state of the server, read once per node for all listeners, as long as there are any. */
export const TICK_MS = 5_000;

export class Ticks {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #listeners = new Set<(tick: LiveTick) => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ engine, log }: { engine: Engine; log: Log }) {
    this.#engine = engine;
    this.#log = log;
  }

  async now(): Promise<LiveTick> {
    const { db, feed, now } = this.#engine;
    return { now: now().toISOString(), lag: await feed.lag(db), version: VERSION };
  }

  /** Returns a function that stops listening. */
  listen(listener: (tick: LiveTick) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#tell(), TICK_MS);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  async #tell(): Promise<void> {
    try {
      const tick = await this.now();
      for (const listener of this.#listeners) listener(tick);
    } catch (error) {
      // a page that gets no tick shows that it is not live
      this.#log.warn({ err: error }, 'The lag of the event feed could not be read.');
    }
  }
}
