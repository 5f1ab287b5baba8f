/**
 * Requests and answers of yoga as plain objects, with what yoga asks them for. Fastify has read and parsed the body, and
 * sends the answer; through the classes of fetch, each request wrote its body as text, streamed it, parsed it again, and
 * streamed the answer.
 */

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly accept: string;
  /** Parsed; undefined: none. */
  readonly body: unknown;
  /** Of a stream. */
  readonly signal: AbortSignal | null;
}

export function plainRequest({ url, method, accept, body, signal }: Asked): Request {
  const headers = new Map([['accept', accept]]);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const asked = {
    url,
    method,
    signal,
    body: null,
    json: () => body,
    headers: { get: (name: string) => headers.get(name) ?? null },
  };
  return asked as unknown as Request; // yoga uses nothing else of it
}

/** `Response`, as far as yoga and `http.ts` use it. */
export class PlainResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  readonly #text: string;

  constructor(body: ReadableStream<Uint8Array> | string | null, init: ResponseInit = {}) {
    this.status = init.status ?? 200;
    const headers = new Map(
      Object.entries(init.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
    );
    this.headers = { get: (name) => headers.get(name.toLowerCase()) ?? null };
    this.body = typeof body === 'string' ? null : body;
    this.#text = typeof body === 'string' ? body : '';
  }

  /** A multipart answer is a stream even of one part. */
  async text(): Promise<string> {
    return this.body === null ? this.#text : new Response(this.body).text();
  }
}
