import type { Queryable } from './db.ts';

/**
 * The time of every statement: the database's clock as this node knows it. Housekeeping measures the difference with
 * each sign of life; in between the node's monotonic clock counts. Statements get the time as a plain parameter, so a
 * lease counts from its statement, not from the start of the caller's transaction, and all nodes share one clock.
 */
const FRESH_MS = 15_000;
/** The wall clock drifted away from the monotonic one: the machine was suspended, or its clock was set. */
const JUMP_MS = 1_000;
/** A measurement loses value every second: clocks drift, and the server's may be set. */
const DRIFT_MS_PER_SECOND = 1;
/** A stalled database takes seconds to answer, and half of that may be error. */
const ROUGH_MS = 250;

export interface Clocks {
  /** Milliseconds that never jump. */
  monotonic(): number;
  /** Milliseconds since 1970 by the machine's clock. */
  wall(): number;
}

const OWN_CLOCKS: Clocks = { monotonic: () => performance.now(), wall: () => Date.now() };

export const CLOCK_MS = '(extract(epoch from clock_timestamp()) * 1000)::float8';

export class DatabaseClock {
  readonly #clocks: Clocks;
  /** Added to the monotonic clock, it gives the database's time. */
  #difference: number | undefined;
  /** The possible error: half of the measurement's round trip. */
  #error = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #wallDifference = 0;
  #latest = 0;
  readonly #asking = new WeakMap<Queryable, Promise<void>>();

  constructor(clocks: Clocks = OWN_CLOCKS) {
    this.#clocks = clocks;
  }

  /** Never runs backwards by less than a second; a better measurement is no reason to. */
  now(): Date {
    if (this.#difference === undefined) throw new Error('The clock of the database has not been read yet.');
    const ms = Math.floor(this.#clocks.monotonic() + this.#difference);
    if (ms > this.#latest || this.#latest - ms > JUMP_MS) this.#latest = ms;
    return new Date(this.#latest);
  }

  /** A promise if the database must be asked first; through this client, which may be the only free one. */
  ready(client: Queryable): Promise<void> | undefined {
    if (this.#isFresh()) return undefined;
    const asked = this.#asking.get(client);
    if (asked !== undefined) return asked;
    const asking = this.#ask(client).finally(() => this.#asking.delete(client));
    this.#asking.set(client, asking);
    return asking;
  }

  /** For a statement that also selects `CLOCK_MS`: when it was sent, by `start`, and what it answered. */
  start(): number {
    return this.#clocks.monotonic();
  }

  measured(sentAt: number, databaseMs: number): void {
    const now = this.#clocks.monotonic();
    const error = (now - sentAt) / 2;
    const difference = databaseMs - (sentAt + now) / 2;
    const known = this.#error + ((now - this.#measuredAt) / 1_000) * DRIFT_MS_PER_SECOND;
    // the more precise measurement is kept, unless the two contradict each other: then the clock was set
    const contradicts = Math.abs(difference - (this.#difference ?? 0)) > error + known;
    const jumped = this.#hasJumped();
    if (this.#difference === undefined || jumped || error <= known || contradicts) {
      this.#difference = difference;
      this.#error = error;
    } else this.#error = known;
    // after a jump even a slow answer is the best there is: it is used, and the clock is read again
    if (jumped && error > ROUGH_MS) return;
    this.#measuredAt = now;
    this.#wallDifference = this.#clocks.wall() - now;
  }

  #isFresh(): boolean {
    return this.#clocks.monotonic() - this.#measuredAt <= FRESH_MS && !this.#hasJumped();
  }

  #hasJumped(): boolean {
    return Math.abs(this.#clocks.wall() - this.#clocks.monotonic() - this.#wallDifference) > JUMP_MS;
  }

  async #ask(client: Queryable): Promise<void> {
    const sentAt = this.start();
    const { rows } = await client.query({ name: 'muster_clock', text: `select ${CLOCK_MS} as ms` });
    this.measured(sentAt, rows[0].ms);
  }
}
