import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Requests that wait. Ten thousand of them may be parked, so each costs one controller and one listener on its socket,
 * and a request that does not wait costs neither.
 *
 *   parked ──something to do──► answered
 *      ├──time over──────────► answered, empty
 *      ├──socket gone────────► aborted; what was claimed meanwhile goes back
 *      └──server stops───────► aborted; answered, empty
 */
export interface Wait {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

export class LongPolls {
  readonly #parked = new Set<AbortController>();
  #stopping = false;

  get count(): number {
    return this.#parked.size;
  }

  /** Runs the work with at most so many seconds to wait; `ifEnded` is the answer for who was sent away meanwhile. */
  async run<T>(
    request: FastifyRequest,
    waitSeconds: number,
    work: (wait: Wait) => Promise<T>,
    ifEnded: T,
  ): Promise<T> {
    if (waitSeconds <= 0 || this.#stopping) return work({});
    const { socket } = request.raw;
    const controller = new AbortController();
    const gone = () => controller.abort();
    if (socket.destroyed) gone();
    else socket.once('close', gone);
    this.#parked.add(controller);
    try {
      const result = await work({ waitMs: waitSeconds * 1_000, signal: controller.signal });
      // Whatever was claimed after the end of the wait has been given back.
      return controller.signal.aborted ? ifEnded : result;
    } finally {
      this.#parked.delete(controller);
      socket.removeListener('close', gone);
    }
  }

  /** Everybody who is parked gets an empty answer, and nobody parks any more. */
  stop(): void {
    this.#stopping = true;
    for (const controller of this.#parked) controller.abort();
  }
}

/** Calls back if the answer could not be written out: then nobody has what it says. */
export function ifNotSent(request: FastifyRequest, reply: FastifyReply, giveBack: () => void): void {
  if (request.raw.socket.destroyed) {
    giveBack();
    return;
  }
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) giveBack();
  });
}
