import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy that misbehaves on command. A new connection goes to the current target.
 *
 *   cut()            every connection breaks at once
 *   cutHalfWay(n)    every connection passes n more bytes of an answer and then breaks
 *   mute()           requests arrive, every answer is lost
 *   hold()           half-open: connections stay, new ones are accepted, and nothing gets through
 *   strand()         the same for existing connections; new ones work
 *   release()        held and muted connections break, as when a dead peer is detected
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target: number | null = null;
  #held = false;

  private constructor() {
    this.#server = createServer((inside) => this.#take(inside));
  }

  static async start(): Promise<TcpProxy> {
    const proxy = new TcpProxy();
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Null: there is no target, and connections are refused as well as a proxy can. */
  aimAt(port: number | null): void {
    this.#target = port;
  }

  cut(): void {
    for (const pair of this.#pairs) pair.end();
  }

  cutHalfWay(bytes: number): void {
    for (const pair of this.#pairs) pair.left = bytes;
  }

  mute(): void {
    for (const pair of this.#pairs) pair.mute = true;
  }

  hold(): void {
    this.#held = true;
    for (const pair of this.#pairs) pair.hold();
  }

  strand(): void {
    for (const pair of this.#pairs) pair.hold();
  }

  release(): void {
    this.#held = false;
    for (const pair of this.#pairs) if (pair.held || pair.mute) pair.end();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(inside: Socket): void {
    if (this.#target === null) {
      inside.on('error', () => {});
      inside.resetAndDestroy();
      return;
    }
    const pair = new Pair(inside, connect(this.#target, '127.0.0.1'), () => this.#pairs.delete(pair));
    this.#pairs.add(pair);
    if (this.#held) pair.hold();
  }
}

class Pair {
  /** How many more bytes of answers get through. */
  left = Number.POSITIVE_INFINITY;
  held = false;
  mute = false;
  readonly #inside: Socket;
  readonly #outside: Socket;
  readonly #gone: () => void;

  constructor(inside: Socket, outside: Socket, gone: () => void) {
    this.#inside = inside;
    this.#outside = outside;
    this.#gone = gone;
    for (const socket of [inside, outside]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end());
      // while the connection is held, the end of its peer is not passed on: that is what half-open means
      socket.on('close', () => {
        if (!this.held) this.end();
      });
    }
    inside.on('data', (bytes) => this.#pass(inside, outside, bytes));
    outside.on('data', (bytes) => {
      if (!this.mute) this.#pass(outside, inside, bytes.subarray(0, this.#measure(bytes.length)));
    });
    inside.on('end', () => {
      if (!this.held) outside.end();
    });
    outside.on('end', () => {
      if (!this.held) inside.end();
    });
  }

  hold(): void {
    this.held = true;
    this.#inside.pause();
    this.#outside.pause();
  }

  end(): void {
    this.held = false;
    this.#inside.resetAndDestroy();
    this.#outside.resetAndDestroy();
    this.#gone();
  }

  #measure(length: number): number {
    const allowed = Math.min(length, this.left);
    this.left -= allowed;
    return allowed;
  }

  #pass(from: Socket, to: Socket, bytes: Buffer): void {
    if (this.held || to.destroyed) return;
    if (this.left <= 0) {
      // the bytes that were let through arrive, then the connection is dead
      to.end(bytes);
      setImmediate(() => this.end());
      return;
    }
    if (!to.write(bytes)) {
      from.pause();
      to.once('drain', () => {
        if (!this.held) from.resume();
      });
    }
  }
}
