/**
 * Pushes to APNs over HTTP/2 with a client certificate. Every push gets an outcome: nothing is thrown, no wait is
 * endless, and the queue is bounded. When to push again is decided elsewhere.
 */
import { Connection } from './connection.ts';
import { again, outcomeOf, type PushOutcome } from './outcome.ts';
import type { Push } from './push.ts';
import { type PushCertificate, type PushCertificateFiles, readPushCertificate } from './push-certificate.ts';

export interface ApnsOptions extends PushCertificateFiles {
  /** `https://api.push.apple.com`, port 443 or 2197, the only ones for device management certificates. */
  readonly url: string;
  /** Certificate authorities to trust besides the usual ones. */
  readonly ca?: string;
  /** In flight at once, if APNs allows it. */
  readonly maxStreams?: number;
  /** Waiting for their turn; further pushes are told to try again. */
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
  readonly connectWithinMs?: number;
  /** Until it is sent. */
  readonly turnWithinMs?: number;
  readonly answerWithinMs?: number;
  readonly pingEveryMs?: number;
  readonly pongWithinMs?: number;
}

interface Waiting {
  readonly push: Push;
  readonly resolve: (outcome: PushOutcome) => void;
  /** Ends the wait for a turn that never comes. */
  timer: NodeJS.Timeout | null;
  tries: number;
}

const MOST_TRIES = 3;
const MINUTE = 60_000;

export class ApnsClient {
  readonly #options: Required<Omit<ApnsOptions, 'ca' | 'certificate' | 'key'>> & {
    readonly ca: string | undefined;
  };
  #certificate: PushCertificate;
  #connection: Connection | null = null;
  /** Retired connections with pushes still in flight. */
  readonly #leaving = new Set<Connection>();
  #line: Waiting[] = [];
  #lineBytes = 0;
  #inFlight = 0;
  #closed = false;
  #idle: (() => void) | null = null;

  constructor({ certificate, key, ...options }: ApnsOptions) {
    this.#certificate = readPushCertificate({ certificate, key });
    this.#options = {
      url: options.url,
      ca: options.ca,
      maxStreams: options.maxStreams ?? 500,
      maxWaiting: options.maxWaiting ?? 20_000,
      maxWaitingBytes: options.maxWaitingBytes ?? 16 * 1024 * 1024,
      connectWithinMs: options.connectWithinMs ?? 10_000,
      answerWithinMs: options.answerWithinMs ?? 30_000,
      turnWithinMs: options.turnWithinMs ?? MINUTE,
      pingEveryMs: options.pingEveryMs ?? 15 * MINUTE,
      pongWithinMs: options.pongWithinMs ?? 10_000,
    };
  }

  get topic(): string {
    return this.#certificate.topic;
  }

  /** When the push certificate, and with it every push, expires. */
  get notAfter(): Date {
    return this.#certificate.notAfter;
  }

  get waiting(): number {
    return this.#line.length;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  push(push: Push): Promise<PushOutcome> {
    if (this.#closed) return Promise.resolve(again('closed'));
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#line.length >= maxWaiting || this.#lineBytes + push.body.byteLength > maxWaitingBytes)
      return Promise.resolve(again('overloaded'));
    return new Promise((resolve) => {
      this.#stand({ push, resolve, timer: null, tries: 0 }, 'last');
      this.#pump();
    });
  }

  #stand(waiting: Waiting, where: 'first' | 'last'): void {
    if (where === 'first') this.#line.unshift(waiting);
    else this.#line.push(waiting);
    this.#lineBytes += waiting.push.body.byteLength;
    waiting.timer ??= setTimeout(() => {
      if (this.#take(waiting)) waiting.resolve(again('timeout'));
    }, this.#options.turnWithinMs);
  }

  /** Removes it from the line, if it is still there. */
  #take(waiting: Waiting): boolean {
    const at = this.#line.indexOf(waiting); // nearly always the first
    if (at === -1) return false;
    this.#line.splice(at, 1);
    this.#lineBytes -= waiting.push.body.byteLength;
    if (waiting.timer) clearTimeout(waiting.timer);
    waiting.timer = null;
    return true;
  }

  #answerLine(outcome: PushOutcome): void {
    for (const waiting of [...this.#line]) if (this.#take(waiting)) waiting.resolve(outcome);
  }

  /** Checks whether the connection is alive, as happens periodically; the next push replaces a dead one. */
  ping(): void {
    this.#connection?.ping();
  }

  /** A renewed certificate applies from the next push on; pushes in flight finish with the old one. */
  useCertificate(files: PushCertificateFiles): void {
    this.#certificate = readPushCertificate(files);
    const old = this.#connection;
    this.#connection = null;
    if (old?.active) this.#leaving.add(old);
    old?.retire();
    this.#pump();
  }

  /** Answers all pushes: waiting ones at once, those in flight when their answer comes, or after the grace period. */
  async close(graceMs = 1_000): Promise<void> {
    this.#closed = true;
    this.#answerLine(again('closed'));
    const ended =
      this.#inFlight === 0 ? Promise.resolve() : new Promise<void>((resolve) => (this.#idle = resolve));
    const timer = setTimeout(() => this.#destroyAll(), graceMs);
    await ended;
    clearTimeout(timer);
    this.#destroyAll();
  }

  #destroyAll(): void {
    for (const connection of [this.#connection, ...this.#leaving]) connection?.destroy();
  }

  #pump(): void {
    if (this.#connection?.over) this.#leave(this.#connection);
    if (this.#line.length === 0 || this.#closed) return;
    this.#connection ??= this.#connect();
    while (this.#line.length > 0 && this.#connection.room(this.#options.maxStreams) > 0) {
      const [next] = this.#line;
      if (next === undefined || !this.#take(next)) return;
      this.#inFlight += 1;
      void this.#exchange(this.#connection, next);
    }
  }

  #connect(): Connection {
    const { certificate, key } = this.#certificate;
    const connection: Connection = new Connection({ ...this.#options, certificate, key }, () => {
      if (connection.over && this.#connection !== connection && connection.active === 0)
        this.#leaving.delete(connection);
      this.#pump();
    });
    return connection;
  }

  /**
   * A connection that was never established answers all that wait for it: the next would fail the same way, and they
   * can try again.
   */
  #leave(connection: Connection): void {
    this.#connection = null;
    if (connection.active > 0) this.#leaving.add(connection);
    if (connection.wasReady) return;
    this.#answerLine(this.#lostTo(connection, connection.reason ?? 'connection-timeout'));
  }

  async #exchange(connection: Connection, waiting: Waiting): Promise<void> {
    const exchange = await connection.send(waiting.push);
    this.#inFlight -= 1;
    waiting.tries += 1;
    if ('answer' in exchange) {
      const outcome = outcomeOf(exchange.answer);
      // APNs may announce its shutdown in a response too
      if ('reason' in outcome && ['Shutdown', 'IdleTimeout'].includes(outcome.reason)) connection.retire();
      waiting.resolve(outcome);
    } else if (exchange.unseen && !connection.fault && waiting.tries < MOST_TRIES && !this.#closed) {
      this.#stand(waiting, 'first');
    } else {
      waiting.resolve(this.#lostTo(connection, this.#closed ? 'closed' : exchange.lost));
    }
    if (this.#inFlight === 0) this.#idle?.();
    this.#pump();
  }

  #lostTo(connection: Connection, reason: string): PushOutcome {
    return connection.fault
      ? { kind: 'provider-fault', status: null, reason: connection.fault }
      : again(reason);
  }
}
