import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy that misbehaves when told to. Whoever connects reaches the target as it is at that moment.
 *
 *   cut()            every connection breaks, here and now
 *   cutHalfWay(n)    every connection passes n more bytes of an answer and then breaks
 *   mute()           what is sent arrives, every answer is lost
 *   hold()           half-open: connections stay, new ones are taken, and nothing gets through
 *   strand()         the same for the connections that are there; new ones work
 *   release()        what was held or mute breaks, as it does when a dead peer is found out
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

  /** Null: nobody is there, connections are refused as well as a proxy can. */
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
      // A peer that is gone is not heard of while the connection is held: that is what half-open means.
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
      // what was let through arrives, then the line is dead
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
