import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { AllowRule, ResolvedAddress } from './allow-rule.ts';

/** A request to somebody's server, and how long he has for his whole answer. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | null;
  readonly timeoutMs: number;
  /** The server itself is stopping, or the caller is no longer interested. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Nobody but this server has named the address, so no rule is asked: one of its settings, or its own, where its certificate
   * is not looked at, because that is not made out to the address it listens on.
   */
  readonly trusted?: 'setting' | 'own' | undefined;
}

/** Whatever comes of it is an answer; nothing is thrown. */
export type OutgoingAnswer = {
  readonly tookMs: number;
} & (
  | {
      readonly outcome: 'answered';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
      /** There was more of the body. */
      readonly isCut: boolean;
    }
  | {
      readonly outcome: 'forbidden' | 'unknown-host' | 'unreachable' | 'timeout' | 'stopped';
      readonly text: string;
    }
);

export interface OutgoingLimits {
  /** Of a request that is sent. */
  readonly bodyBytes: number;
  /** So much of an answer is kept; the rest is not read. */
  readonly answerBytes: number;
}

export const OUTGOING_LIMITS: OutgoingLimits = { bodyBytes: 1_048_576, answerBytes: 65_536 };

/** How requests are begun, by protocol: a test sees that nothing is. */
export type Dial = (url: URL, options: RequestOptions) => ClientRequest;
const dialByProtocol: Dial = (url, options) =>
  url.protocol === 'https:' ? overHttps(url, options) : overHttp(url, options);

/**
 * Requests to addresses that somebody else has named. Each is sent to an address that the rule has seen, over a connection of
 * its own, so that no connection outlives what the rule said of it. Redirects are not followed, wherever they lead: they are
 * answers like others. What is sent and what is read are bounded, in bytes and in time.
 */
export class Outgoing {
  readonly rule: AllowRule;
  readonly limits: OutgoingLimits;
  readonly #dial: Dial;

  constructor(rule: AllowRule, limits: OutgoingLimits = OUTGOING_LIMITS, dial: Dial = dialByProtocol) {
    this.rule = rule;
    this.limits = limits;
    this.#dial = dial;
  }

  /** The address, if a request can be sent to such a one at all, or the sentence why not. */
  check(address: string): URL | string {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (!url && /^https?:/i.test(address)) return 'is no valid URL: check its host and its port.';
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
      return 'must be a URL that begins with https:// or http://.';
    if (url.username || url.password) return 'must not contain a user name or password.';
    if (this.rule.forbids(url))
      return 'is in a network that requests may not be sent to; MUSTER_OUTGOING_ALLOW can allow it.';
    return url;
  }

  async send(request: OutgoingRequest): Promise<OutgoingAnswer> {
    const began = performance.now();
    const timeout = AbortSignal.timeout(request.timeoutMs);
    const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
    const answer = await this.#send(request, signal).catch(
      (error: Error): Unanswered =>
        timeout.aborted
          ? { outcome: 'timeout', text: `No complete response within ${request.timeoutMs / 1_000} s.` }
          : signal.aborted
            ? { outcome: 'stopped', text: 'This server is stopping.' }
            : { outcome: 'unreachable', text: sentenceOf(error) },
    );
    return { ...answer, tookMs: Math.round(performance.now() - began) };
  }

  async #send(request: OutgoingRequest, signal: AbortSignal): Promise<Answered | Unanswered> {
    const url = request.trusted ? new URL(request.url) : this.check(request.url);
    if (typeof url === 'string') return { outcome: 'forbidden', text: `The address ${url}` };
    const body = Buffer.from(request.body ?? '');
    if (body.length > this.limits.bodyBytes)
      return { outcome: 'forbidden', text: `The body has more than ${this.limits.bodyBytes} bytes.` };
    const resolved = request.trusted ? null : await orAborted(this.rule.resolve(url, signal), signal);
    if (resolved && resolved.outcome !== 'allowed') return resolved;
    const sent = this.#dial(url, {
      agent: false,
      headers: { ...request.headers, ...(request.body === null ? {} : { 'content-length': body.length }) },
      method: request.method,
      signal,
      ...(resolved ? { lookup: only(resolved.addresses) } : {}),
      ...(request.trusted === 'own' ? { rejectUnauthorized: false } : {}),
    });
    // whatever a server does and Node makes of it, the wait for it ends with the signal
    return orAborted(this.#answer(sent, request.body === null ? null : body), signal);
  }

  #answer(sent: ClientRequest, body: Buffer | null): Promise<Answered> {
    return new Promise((resolve, reject) => {
      sent.on('error', reject);
      // with an answer, that may still be read: it says itself when it is over
      let isAnswered = false;
      sent.on('close', () => isAnswered || reject(new Error('the connection closed without a response')));
      // 101: somebody wants to speak something else than HTTP, which nobody here does
      sent.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ ...answered(response), body: Buffer.alloc(0), isCut: false });
      });
      sent.on('response', (response) => {
        isAnswered = true;
        const parts: Buffer[] = [];
        let bytes = 0;
        const done = (isCut: boolean) => {
          resolve({
            ...answered(response),
            body: Buffer.concat(parts).subarray(0, this.limits.answerBytes),
            isCut,
          });
          sent.destroy();
        };
        response.on('data', (part: Buffer) => {
          parts.push(part);
          bytes += part.length;
          if (bytes > this.limits.answerBytes) done(true);
        });
        response.on('end', () => done(false));
        response.on('error', reject);
        response.on('close', () => reject(new Error('the connection closed before the end of the response')));
      });
      sent.end(body ?? undefined);
    });
  }
}

type Answered = Omit<Extract<OutgoingAnswer, { outcome: 'answered' }>, 'tookMs'>;
type Unanswered = Omit<Exclude<OutgoingAnswer, { outcome: 'answered' }>, 'tookMs'>;

/** Whatever name is asked for, it has these addresses and no others. */
function only(addresses: readonly ResolvedAddress[]): LookupFunction {
  const [first] = addresses as [ResolvedAddress];
  return (_host, options, callback) => {
    if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

const answered = (response: IncomingMessage) => ({
  ...{ outcome: 'answered' as const, status: response.statusCode ?? 0, headers: headersOf(response) },
});

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Looking a name up cannot be stopped once it has begun; whoever waits for it can. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function sentenceOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return `The server cannot be reached: ${code ?? error.message.replace(/\.$/, '')}.`;
}
