import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** The requests that were taken in and whose responses are not yet closed, whether sent or cut off. */
export class InHand {
  readonly #open = new Set<ServerResponse>();
  readonly #left: (this: ServerResponse) => void;

  constructor() {
    const open = this.#open;
    // one for all requests: a closure for each would be paid by every request
    this.#left = function left() {
      open.delete(this);
    };
  }

  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', this.#left);
  }

  /**
   * Resolves as soon as there is none, or when the time is over. The response to a pipelined request that waits behind
   * another one is never closed if its connection breaks, so connections are looked at too.
   */
  async none(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    while (performance.now() < until) {
      for (const response of this.#open) if (response.req.socket.destroyed) this.#open.delete(response);
      if (this.#open.size === 0) return;
      await pause(LOOK_AGAIN_MS);
    }
  }
}

const LOOK_AGAIN_MS = 20;
