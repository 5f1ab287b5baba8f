/**
 * Sends one message at a time with a pause behind each, so that a browser hears of a busy fleet as rarely as of a quiet one.
 * Whatever comes meanwhile is for the next message.
 */
export interface PacedOptions {
  /** Sends the next message; false: there is nothing to send. */
  readonly send: () => boolean;
  readonly pauseMs: number;
  /** Whether the other side has read enough. */
  readonly hasRoom: () => boolean;
}

export class Paced {
  readonly #options: PacedOptions;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: PacedOptions) {
    this.#options = options;
  }

  /** There is something to send, or room again. */
  soon(): void {
    if (this.#timer || this.#isOver || !this.#options.hasRoom()) return;
    if (!this.#options.send()) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.soon();
    }, this.#options.pauseMs);
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
