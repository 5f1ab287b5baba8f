import { request as http, type IncomingHttpHeaders } from 'node:http';
import { request as https } from 'node:https';

export interface Sent {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** For TLS: trusted authorities, and the own identity. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** The connection breaks when everything is sent and nothing is answered. */
  readonly drop?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The network failed, not the server. */
export class Dropped extends Error {}

/** One request over its own connection, as from a device that just woke up. */
export function send({
  url,
  method = 'GET',
  headers = {},
  body,
  tls = {},
  drop = false,
}: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { ...headers, 'content-length': body?.byteLength ?? 0 },
      agent: false as const,
    };
    const request = url.startsWith('https:') ? https(url, { ...options, ...tls }) : http(url, options);
    request.on('error', (error) => reject(new Dropped(error.message)));
    request.on('response', (response) => {
      if (drop) return request.destroy(new Error('dropped'));
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => reject(new Dropped(error.message)));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.end(body);
  });
}

/** An answer of the server that a device cannot continue with. */
export class Refused extends Error {
  readonly reply: Reply;

  constructor(what: string, reply: Reply) {
    super(`${what}: ${reply.status} ${reply.body.toString()}`);
    this.reply = reply;
  }
}
