/** One connection to APNs, until it is over. Knows streams, not waiting pushes. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { type ApnsAnswer, readBody } from './outcome.ts';
import type { Push } from './push.ts';

export interface ConnectionOptions {
  readonly url: string;
  readonly certificate: string;
  readonly key: string;
  readonly ca: string | undefined;
  readonly connectWithinMs: number;
  readonly answerWithinMs: number;
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
}

export type Exchange =
  | { readonly answer: ApnsAnswer }
  /** `unseen`: APNs says, or it is certain, that it was never processed. */
  | { readonly lost: string; readonly unseen: boolean };

const MOST_ANSWER_BYTES = 4_096;

export class Connection {
  readonly #session: ClientHttp2Session;
  readonly #options: ConnectionOptions;
  readonly #changed: () => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #active = 0;
  #ready = false;
  #over = false;
  #lastStreamId = Number.POSITIVE_INFINITY;
  #reason: string | null = null;
  #fault: string | null = null;

  /** `changed` is called when there may be room, and when there will never be again. */
  constructor(options: ConnectionOptions, changed: () => void) {
    this.#options = options;
    this.#changed = changed;
    const session = connect(options.url, {
      cert: options.certificate,
      key: options.key,
      ...(options.ca !== undefined && { ca: options.ca }),
      minVersion: 'TLSv1.2',
    });
    this.#session = session;
    session.on('remoteSettings', () => {
      this.#ready = true;
      clearTimeout(this.#timers[0]);
      changed();
    });
    session.on('goaway', (_code, lastStreamId, data) => {
      this.#lastStreamId = lastStreamId;
      if (data) this.#reason = readBody(Buffer.from(data).toString('utf8')).reason;
      this.retire();
    });
    session.on('error', (error: NodeJS.ErrnoException) => {
      this.#reason ??= error.code ?? 'connection-lost';
      if (isTlsFault(error.code)) this.#fault = this.#reason;
    });
    session.on('close', () => {
      for (const timer of this.#timers) clearTimeout(timer);
      this.#over = true;
      changed();
    });
    this.#timers.push(setTimeout(() => session.destroy(), options.connectWithinMs));
    this.#timers.push(setInterval(() => this.ping(), options.pingEveryMs).unref());
  }

  /** Accepts no more pushes. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether it was ever established. */
  get wasReady(): boolean {
    return this.#ready;
  }

  /** Why it is over, if either side gave a reason. */
  get reason(): string | null {
    return this.#reason;
  }

  /** Why the next one would fail too: one side's certificate was not trusted. */
  get fault(): string | null {
    return this.#fault;
  }

  get active(): number {
    return this.#active;
  }

  /** How many more may be sent at once now. */
  room(most: number): number {
    if (!this.#ready || this.#over) return 0;
    return Math.min(most, this.#session.remoteSettings?.maxConcurrentStreams ?? most) - this.#active;
  }

  /** Pushes in flight may finish; nothing new is sent. */
  retire(): void {
    this.#over = true;
    this.#session.close();
    this.#changed();
  }

  destroy(): void {
    this.#over = true;
    this.#session.destroy();
  }

  send({ token, headers, body }: Push): Promise<Exchange> {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({
        ':method': 'POST',
        ':path': `/3/device/${token}`,
        'content-length': body.byteLength,
        ...headers,
      });
    } catch {
      return Promise.resolve({ lost: this.#reason ?? 'connection-lost', unseen: true });
    }
    this.#active += 1;
    return new Promise<Exchange>((resolve) => {
      this.#read(stream, resolve);
      stream.end(body);
    }).finally(() => {
      this.#active -= 1;
      this.#changed();
    });
  }

  #read(stream: ClientHttp2Stream, resolve: (exchange: Exchange) => void): void {
    let head: Omit<ApnsAnswer, 'body'> | undefined;
    let body = '';
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      stream.close(constants.NGHTTP2_CANCEL);
      // APNs answers all devices alike, so it is the connection that hangs
      this.retire();
    }, this.#options.answerWithinMs);
    stream.setEncoding('utf8');
    stream.on('response', (headers) => {
      head = {
        status: Number(headers[':status']),
        apnsId: headers['apns-id']?.toString(),
        retryAfter: headers['retry-after'],
      };
    });
    stream.on('data', (chunk: string) => {
      if (body.length < MOST_ANSWER_BYTES) body += chunk;
    });
    stream.on('error', () => {}); // 'close' follows and carries the same
    stream.on('close', () => {
      clearTimeout(timer);
      if (head !== undefined && stream.rstCode === constants.NGHTTP2_NO_ERROR)
        return resolve({ answer: { ...head, body } });
      const unseen =
        stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
        stream.id === undefined ||
        stream.id > this.#lastStreamId;
      resolve({ lost: late ? 'timeout' : (this.#reason ?? 'connection-lost'), unseen: unseen && !late });
    });
  }

  /** A connection that was idle for long may be dead without notice. */
  ping(): void {
    if (this.#session.destroyed || !this.#ready) return;
    const timer = setTimeout(() => this.#session.destroy(), this.#options.pongWithinMs);
    try {
      this.#session.ping(() => clearTimeout(timer));
    } catch {
      clearTimeout(timer);
    }
  }
}

const TLS_FAULTS = new Set([
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
]);

function isTlsFault(code = ''): boolean {
  return (
    code.startsWith('ERR_SSL_') ||
    code.startsWith('ERR_TLS_') ||
    code.startsWith('ERR_OSSL_') ||
    TLS_FAULTS.has(code)
  );
}
