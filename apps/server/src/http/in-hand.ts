import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A connection over which requests came in. */
export interface Connection {
  unanswered: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Where it is counted as unanswered; null: it was refused before. */
    countedIn: Connection | null;
  }
}

const CONNECTION = Symbol('its requests in hand');

/**
 * The requests that were taken in and are not answered. They are counted by connection, because requests of one that breaks have
 * no end of their own: a pipelined one behind another is never closed. A set of all responses with a listener on each
 * took a tenth of the requests per second (more for the collector than for itself).
 */
export class InHand {
  readonly #open = new Set<Connection>();

  /** The caller counts it down when the request is answered. */
  add(socket: Socket & { [CONNECTION]?: Connection }): Connection {
    let connection = socket[CONNECTION];
    if (connection === undefined) {
      const added: Connection = { unanswered: 0 };
      connection = added;
      socket[CONNECTION] = added;
      if (!socket.destroyed) {
        this.#open.add(added);
        socket.once('close', () => this.#open.delete(added));
      }
    }
    connection.unanswered += 1;
    return connection;
  }

  /** Resolves as soon as there is none, or when the time is over. */
  async none(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    while (performance.now() < until && [...this.#open].some(({ unanswered }) => unanswered > 0))
      await pause(LOOK_AGAIN_MS);
  }
}

const LOOK_AGAIN_MS = 20;
