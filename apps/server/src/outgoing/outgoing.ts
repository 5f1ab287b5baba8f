import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { AllowRule, ResolvedAddress } from './allow-rule.ts';

/** A request to another server, and the time limit for its whole answer. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | null;
  readonly timeoutMs: number;
  /** This server is stopping, or the caller has lost interest. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The address was not supplied by a user, so no rule is checked: it comes from a setting, or is this server's own,
   * whose certificate is not checked because it is not issued for the address it listens on.
   */
  readonly trusted?: 'setting' | 'own' | undefined;
}

/** Every outcome is an answer; nothing is thrown. */
export type OutgoingAnswer = {
  readonly tookMs: number;
} & (
  | {
      readonly outcome: 'answered';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
      /** The body was longer. */
      readonly isCut: boolean;
    }
  | {
      readonly outcome: 'forbidden' | 'unknown-host' | 'unreachable' | 'timeout' | 'stopped';
      readonly text: string;
    }
);

export interface OutgoingLimits {
  /** The largest body of a request. */
  readonly bodyBytes: number;
  /** This much of an answer is kept; the rest is not read. */
  readonly answerBytes: number;
}

export const OUTGOING_LIMITS: OutgoingLimits = { bodyBytes: 1_048_576, answerBytes: 65_536 };

/** How requests are started, by protocol: a test checks that none is. */
export type Dial = (url: URL, options: RequestOptions) => ClientRequest;
const dialByProtocol: Dial = (url, options) =>
  url.protocol === 'https:' ? overHttps(url, options) : overHttp(url, options);

/**
 * Requests to user-supplied addresses. Each goes to an address that the rule has checked, over a connection of its own,
 * so no connection outlives the check. Redirects are not followed: they are answers like any other. Everything sent and
 * read is bounded, in bytes and in time.
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

  /** The address, or the sentence why no request can be sent to it. */
  check(address: string): URL | string {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (!url && /^https?:/i.test(address)) return 'is not a valid URL: check its host and its port.';
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
    // whatever the server does, the wait ends with the signal
    return orAborted(this.#answer(sent, request.body === null ? null : body), signal);
  }

  #answer(sent: ClientRequest, body: Buffer | null): Promise<Answered> {
    return new Promise((resolve, reject) => {
      sent.on('error', reject);
      // after an answer has begun, its own events tell when it is over
      let isAnswered = false;
      sent.on('close', () => isAnswered || reject(new Error('the connection closed without a response')));
      // 101: the server wants to change to another protocol, which is not supported
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

/** Resolves every name to these addresses. */
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

/** A look-up cannot be aborted once it has begun, but the wait for it can. */
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
