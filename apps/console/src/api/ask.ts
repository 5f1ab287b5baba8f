import type { Answer, GivenTo, Method, PathOf, Saying } from './endpoints.ts';
import { refusalOf } from './refused.ts';
import { withRoom } from './room.ts';
import { tenantHeader } from './tenant-header.ts';

interface Loose {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request to the server, with the sign-in of this page's tenant. A refusal is thrown. */
export async function ask<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  ...[given]: Saying<M, P>
): Promise<Answer<M, P>> {
  const response = await send(method, path, (given ?? {}) as Loose);
  // the contract defines its content
  return (response.status === 204 ? undefined : await response.json()) as Answer<M, P>;
}

/** The same as unparsed text, which keeps numbers above 2^53 exact. */
export async function askText<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  given: GivenTo<M, P>,
): Promise<string> {
  return (await send(method, path, given as Loose)).text();
}

/** A body that is JSON already: what a person typed is sent unchanged. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

async function send(method: Method, path: string, given: Loose): Promise<Response> {
  const { body, signal, headers } = given;
  return withRoom(async () => {
    const response = await fetch(addressOf(path, given), {
      method,
      credentials: 'same-origin',
      headers: {
        ...tenantHeader(),
        ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      // a change always has a body: the server accepts none from a browser without one
      ...(method === 'GET'
        ? {}
        : { body: body instanceof JsonText ? body.text : JSON.stringify(body ?? {}) }),
      ...(signal ? { signal } : {}),
    });
    if (!response.ok) throw await refusalOf(response);
    return response;
  });
}

export function addressOf(path: string, { params = {}, query = {} }: Loose): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined && one !== '') search.append(name, String(one));
  return `${filled}${search.size > 0 ? `?${search}` : ''}`;
}
