/**
 * APNs as far as it is documented: real HTTP/2 and TLS, client certificates, all answers, GOAWAY. Slow answers are
 * gates that the test opens. Devices of a test receive their pushes; an absent one gets the last one when it comes.
 */
import { once } from 'node:events';
import {
  createSecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type TestCertificate, testAuthority, testCertificate } from './certificates.ts';

export interface FakeAnswer {
  readonly status: number;
  readonly reason?: string;
  /** Of a 410, in milliseconds. */
  readonly timestamp?: number;
  readonly retryAfter?: number;
}

export interface SeenPush {
  readonly token: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the client certificate. */
  readonly topic: string;
  /** Number of the connection it came on, from 1. */
  readonly connection: number;
}

type Listener = (push: SeenPush) => void;

export class FakeApns {
  readonly pushes: SeenPush[] = [];
  readonly #server;
  readonly #authority: TestCertificate;
  readonly #sessions = new Set<Http2Session>();
  readonly #numbers = new WeakMap<Http2Session, number>();
  readonly #answers = new Map<string, FakeAnswer>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #kept = new Map<string, SeenPush>();
  readonly #watchers = new Set<() => void>();
  #gate: Promise<void> | null = null;
  #connections = 0;
  url = '';

  private constructor(authority: TestCertificate, server: TestCertificate, maxConcurrentStreams: number) {
    this.#authority = authority;
    this.#server = createSecureServer({
      cert: server.pem,
      key: server.keyPem,
      ca: authority.pem,
      requestCert: true,
      rejectUnauthorized: false, // APNs answers 403 with a reason
      settings: { maxConcurrentStreams },
    });
    this.#server.on('session', (session) => {
      this.#connections += 1;
      this.#sessions.add(session);
      this.#numbers.set(session, this.#connections);
      session.on('close', () => this.#sessions.delete(session));
      session.on('error', () => {});
      this.#tell();
    });
    this.#server.on('stream', (stream, headers) => void this.#serve(stream, headers));
  }

  static async start({ maxConcurrentStreams = 1_000 } = {}): Promise<FakeApns> {
    const authority = await testAuthority('Fake Apple');
    const server = await testCertificate({
      commonName: 'localhost',
      issuer: authority,
      dnsNames: ['localhost'],
      purposes: ['serverAuth'],
    });
    const apns = new FakeApns(authority, server, maxConcurrentStreams);
    apns.#server.listen(0, '127.0.0.1');
    await once(apns.#server, 'listening');
    apns.url = `https://localhost:${(apns.#server.address() as AddressInfo).port}`;
    return apns;
  }

  /** The authority that clients of this server must trust. */
  get ca(): string {
    return this.#authority.pem;
  }

  /** How many connections there were, closed ones included. */
  get connections(): number {
    return this.#connections;
  }

  async pushCertificate(topic = 'com.apple.mgmt.External.test', notAfter?: Date) {
    const wish = {
      commonName: 'APSP',
      userId: topic,
      issuer: this.#authority,
      ...(notAfter && { notAfter }),
    };
    const { pem, keyPem } = await testCertificate(wish);
    return { certificate: pem, key: keyPem };
  }

  /** Answers pushes for this token, or for all, like this from now on; null: correctly. */
  answer(token: string | 'all', answer: FakeAnswer | null): void {
    if (answer) this.#answers.set(token, answer);
    else this.#answers.delete(token);
  }

  /** Pushes are seen but not answered until the gate is opened. */
  hold(): () => void {
    let open = () => {};
    this.#gate = new Promise((resolve) => {
      open = () => {
        this.#gate = null;
        resolve();
      };
    });
    return open;
  }

  /** Sends GOAWAY on every connection; streams above `lastStreamId` were not processed. */
  goAway(reason: string, { code = 0, lastStreamId = 0 } = {}): void {
    for (const session of this.#sessions)
      session.goaway(code, lastStreamId, Buffer.from(JSON.stringify({ reason })));
  }

  /** Breaks every connection without notice. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
  }

  /** A device listens; of the pushes it missed it gets only the last, at once. Returns how to stop. */
  listen(token: Uint8Array, listener: Listener): () => void {
    const key = Buffer.from(token).toString('hex');
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    const missed = this.#kept.get(key);
    this.#kept.delete(key);
    if (missed) listener(missed);
    return () => listeners.delete(listener);
  }

  /** Until this many pushes have arrived, answered or not. */
  async arrived(count: number): Promise<void> {
    await this.#until(() => this.pushes.length >= count);
  }

  /** Resets it for the next test: a server costs more than a test. */
  forget(): void {
    this.cut();
    this.#gate = null;
    this.#connections = 0;
    this.pushes.length = 0;
    for (const map of [this.#answers, this.#listeners, this.#kept]) map.clear();
  }

  async close(): Promise<void> {
    this.cut();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds())
      await new Promise<void>((resolve) => {
        const watcher = () => {
          this.#watchers.delete(watcher);
          resolve();
        };
        this.#watchers.add(watcher);
      });
  }

  #tell(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  async #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => {});
    const session = stream.session;
    if (!session) return;
    let body = '';
    for await (const chunk of stream.setEncoding('utf8')) body += chunk;
    const socket = session.socket as TLSSocket;
    const certificate = socket.getPeerCertificate();
    const topic = String((certificate.subject as { UID?: string } | undefined)?.UID ?? '');
    const token = String(headers[':path']).replace('/3/device/', '');
    const push = { token, headers, body, topic, connection: this.#numbers.get(session) ?? 0 };
    this.pushes.push(push);
    const judged = judge(push, socket.authorized);
    this.#tell();
    await this.#gate;
    if (stream.destroyed) return;
    const answer = judged ?? this.#answers.get(token) ?? this.#answers.get('all') ?? { status: 200 };
    const { status, reason, timestamp, retryAfter } = answer;
    stream.respond({
      ':status': status,
      'apns-id': headers['apns-id'] ?? '00000000-0000-4000-8000-000000000000',
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    });
    stream.end(
      reason === undefined ? '' : JSON.stringify({ reason, ...(timestamp !== undefined && { timestamp }) }),
    );
    if (status === 200) this.#deliver(push);
  }

  #deliver(push: SeenPush): void {
    const listeners = this.#listeners.get(push.token);
    if (!listeners?.size) this.#kept.set(push.token, push);
    else for (const listener of listeners) listener(push);
  }
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** What APNs refuses whatever the test wants; null if nothing is wrong. */
function judge({ body, headers, topic }: SeenPush, authorized: boolean): FakeAnswer | null {
  const refuse = (status: number, reason: string) => ({ status, reason });
  const wanted = headers['apns-topic'] ?? topic;
  const type = headers['apns-push-type'];
  if (headers[':method'] !== 'POST') return refuse(405, 'MethodNotAllowed');
  if (!String(headers[':path']).startsWith('/3/device/')) return refuse(404, 'BadPath');
  if (!authorized) return refuse(403, topic === '' ? 'MissingProviderToken' : 'BadCertificate');
  if (wanted !== topic) return refuse(400, 'TopicDisallowed');
  if (!/^\/3\/device\/(?:[0-9a-f]{2})+$/.test(String(headers[':path']))) return refuse(400, 'BadDeviceToken');
  if (headers['apns-id'] !== undefined && !UUID.test(String(headers['apns-id'])))
    return refuse(400, 'BadMessageId');
  if (!/^\d+$/.test(String(headers['apns-expiration'] ?? 0))) return refuse(400, 'BadExpirationDate');
  if (!['1', '5', '10'].includes(String(headers['apns-priority'] ?? 10))) return refuse(400, 'BadPriority');
  if (type !== 'mdm' && type !== 'alert') return refuse(400, 'InvalidPushType');
  if (body === '') return refuse(400, 'PayloadEmpty');
  return body.length > 4_096 ? refuse(413, 'PayloadTooLarge') : null;
}
