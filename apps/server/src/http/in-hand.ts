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
type Counted = Socket & { [CONNECTION]?: Connection };

/**
 * The requests that were taken in and are not answered. They are counted by connection, because requests of one that breaks have
 * no end of their own: a pipelined one behind another is never closed. A set of all responses with a listener on each
 * took a tenth of the requests per second (more for the collector than for itself).
 */
export class InHand {
  readonly #open = new Set<Connection>();
  /** One for all connections: a waiting poll keeps little else in memory. */
  readonly #closed: (this: Counted) => void;

  constructor() {
    const open = this.#open;
    this.#closed = function closed() {
      if (this[CONNECTION]) open.delete(this[CONNECTION]);
    };
  }

  /** The caller counts it down when the request is answered. */
  add(socket: Counted): Connection {
    let connection = socket[CONNECTION];
    if (connection === undefined) {
      connection = { unanswered: 0 };
      socket[CONNECTION] = connection;
      if (!socket.destroyed) {
        this.#open.add(connection);
        socket.on('close', this.#closed);
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
