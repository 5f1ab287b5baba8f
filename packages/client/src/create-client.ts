import { api, type Endpoint } from '@muster/contracts';
import type { Call, Sending } from './call.ts';
import { refusalOf } from './muster-error.ts';

type Api = typeof api;
export type Client = {
  readonly [Door in keyof Api]: {
    readonly [Name in keyof Api[Door]]: Api[Door][Name] extends Endpoint ? Call<Api[Door][Name]> : never;
  };
};

export interface ClientOptions {
  /** `https://muster.example` */
  readonly url: string;
  /** A function is called before each request, so that a rotated token needs no new client. */
  readonly token?: string | (() => string | Promise<string>);
  /** For tests and proxies. */
  readonly fetch?: typeof fetch;
}

/** The arguments of any call; the types of `Call` say what they may be. */
interface Given extends Sending {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** `client.actions.claim({ params: { lane }, body: { worker } })`; a refusal is thrown as a MusterError. */
export function createClient(options: ClientOptions): Client {
  const callsOf = (calls: Readonly<Record<string, Endpoint>>) =>
    Object.fromEntries(
      Object.entries(calls).map(([name, endpoint]) => [
        name,
        (given: Given = {}) => send(options, endpoint, given),
      ]),
    );
  // each call is made from the endpoint that gives it its type
  return Object.fromEntries(
    Object.entries(api).map(([door, calls]) => [door, callsOf(calls)]),
  ) as unknown as Client;
}

async function send({ url, token, fetch: ask = fetch }: ClientOptions, endpoint: Endpoint, given: Given) {
  const { body, contentType = 'application/json', headers, signal } = given;
  const secret = typeof token === 'function' ? await token() : token;
  const isRaw = endpoint.takes !== undefined;
  const response = await ask(addressOf(url, endpoint, given), {
    method: endpoint.method,
    headers: {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    // Node requires this for a streamed body
    ...(isRaw ? { duplex: 'half' as const } : {}),
    ...(signal ? { signal } : {}),
  });
  if (!response.ok) throw await refusalOf(response);
  return { status: response.status, headers: response.headers, body: await bodyOf(response, endpoint) };
}

async function bodyOf(response: Response, { produces, responses }: Endpoint): Promise<unknown> {
  if (response.status === 204 || !responses[response.status]?.schema) {
    await response.body?.cancel();
    return undefined;
  }
  return produces === undefined ? response.json() : response.text();
}

function addressOf(url: string, { path }: Endpoint, { params = {}, query = {} }: Given): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name) => partOf(name, String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) search.append(name, String(one));
  return `${url.replace(/\/+$/, '')}${filled}${search.size > 0 ? `?${search}` : ''}`;
}

/** `.` and `..` cannot be encoded: every URL collapses them, and the request would reach another endpoint. */
function partOf(name: string, value: string): string {
  if (/^\.?\.?$/.test(value)) throw new TypeError(`${name} cannot be "${value}": it is part of a URL.`);
  return encodeURIComponent(value);
}
