import type { ServerResponse } from 'node:http';

/** The requests that were taken in and whose responses are not yet closed, whether sent or cut off. */
export class InHand {
  #count = 0;
  #isNone = () => {};
  /** One for all requests: a closure for each would be paid by every request. */
  readonly #left = () => {
    this.#count -= 1;
    if (this.#count === 0) this.#isNone();
  };

  add(response: ServerResponse): void {
    this.#count += 1;
    response.once('close', this.#left);
  }

  /** Resolves as soon as there is none. */
  async none(): Promise<void> {
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        this.#isNone = resolve;
      });
  }
}
