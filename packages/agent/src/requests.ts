import { readFileSync } from 'node:fs';
import type { AttemptTracing } from './tracing.ts';

/** Requests to the server, with a token that is read before each. A refusal or a missing answer throws. */
export class ServerRefused extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfterMs: number;

  constructor(status: number, code: string | null, message: string, retryAfterMs: number) {
    super(`${message} (${status})`);
    this.name = 'ServerRefused';
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** There is no token, so nothing was sent. */
export class NoToken extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'NoToken';
  }
}

const ANSWER_MS = 30_000;
/** How much later than requested an answer may come before the connection counts as dead. */
const GRACE_MS = 15_000;

const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

export class Requests {
  readonly #server: string;
  readonly #token: () => Promise<string>;
  readonly #program: string;
  readonly #tracing: AttemptTracing | undefined;
  #instance: string | undefined;

  constructor(server: string, token: () => Promise<string>, program: string, tracing?: AttemptTracing) {
    this.#server = server.replace(/\/+$/, '');
    this.#token = token;
    this.#program = program;
    this.#tracing = tracing;
  }

  /** From now on every request names the instance, of several with one token. */
  introduce(instance: string): void {
    this.#instance = instance;
  }

  /** Sends GET, or POST if there is a body; `about`: the action it is about. */
  async ask(
    path: string,
    body: object | undefined,
    { about, signal, waitSeconds }: { signal: AbortSignal; waitSeconds?: number; about?: string },
  ): Promise<Response> {
    const ms = waitSeconds === undefined ? ANSWER_MS : waitSeconds * 1_000 + GRACE_MS;
    const token = await this.#token().catch((error) => {
      throw new NoToken(error);
    });
    const traceparent = about === undefined ? undefined : this.#tracing?.traceparentOf(about);
    const response = await fetch(this.#server + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${token}`,
        'user-agent': `${this.#program}/${VERSION}`,
        ...(this.#instance === undefined ? {} : { 'muster-instance': this.#instance }),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      redirect: 'error', // a token goes to the server it was made for
      signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]),
    });
    const traces = this.#tracing && response.headers.get('muster-traceparents');
    if (traces) this.#tracing?.received(traces);
    if (response.ok) return response;
    throw await refusal(response);
  }
}

export async function refusal(response: Response): Promise<ServerRefused> {
  const text = await response.text();
  const retryAfter = Number(response.headers.get('retry-after') ?? 0);
  const { error, code } = sentence(text);
  return new ServerRefused(
    response.status,
    code ?? null,
    error ?? 'The server refused',
    Number.isFinite(retryAfter) ? Math.min(retryAfter, 3_600) * 1_000 : 0,
  );
}

export function retryAfter(error: unknown): number {
  return error instanceof ServerRefused ? error.retryAfterMs : 0;
}

/** No answer, or only half of one: fetch throws a TypeError with a cause, or a timeout. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === 'TimeoutError' || (error instanceof TypeError && 'cause' in error))
  );
}

/** fetch only says "fetch failed"; the cause says what failed. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer came in time';
  let { cause } = error as { cause?: unknown };
  if (cause instanceof AggregateError) [cause] = cause.errors; // IPv6, IPv4: the first one is enough
  return isAway(error) && cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

function sentence(text: string): { error?: string; code?: string } {
  try {
    const body = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}
