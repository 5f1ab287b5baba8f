/**
 * Sends one message at a time with a pause after each, so a browser gets as few messages from a busy fleet as from a
 * quiet one. Whatever comes meanwhile goes into the next message.
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
