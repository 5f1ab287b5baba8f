import { setTimeout as pause } from 'node:timers/promises';
import type { Witness } from '../witness.ts';

/** Calls through the balancer, each told to the witness. A call without an answer may have happened. */
const PATIENCE_MS = 45_000;
const BETWEEN_MS = 50;

export interface Said {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: clients look at whatever came
  readonly body: any;
}

export interface Asked {
  readonly body?: object | undefined;
  /** Null: it has a cookie among its headers. */
  readonly token: string | null;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Caller {
  readonly url: string;
  readonly witness: Witness;

  constructor(url: string, witness: Witness) {
    this.url = url;
    this.witness = witness;
  }

  /** Null: no answer, or a refusal after which it can be tried again. */
  async once(method: string, path: string, { body, token, key, headers }: Asked): Promise<Said | null> {
    const call = `${method} ${path}`;
    try {
      const response = await fetch(this.url + path, {
        method,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      if (this.witness.saw(call, response.status, text) !== 'answer') return null;
      const isJson = response.headers.get('content-type')?.startsWith('application/json');
      return { status: response.status, body: isJson ? JSON.parse(text) : text };
    } catch (error) {
      this.witness.saw(call, null, whyNot(error));
      return null;
    }
  }

  /** Until it is answered: for what changes nothing twice. */
  async surely(method: string, path: string, asked: Asked): Promise<Said> {
    for (;;) {
      const said = await this.once(method, path, asked);
      if (said) return said;
      await pause(BETWEEN_MS);
    }
  }
}

export function whyNot(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: { code?: string; message?: string } };
  return `${name}: ${message} ${cause?.code ?? ''} ${cause?.message ?? ''}`;
}
