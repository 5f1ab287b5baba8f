import { type Client, createClient } from '@muster/client';
import type { Rhythm } from './rhythm.ts';

/** The fleet and its operators use the server like any client: by HTTP, each with a token. */
export interface Calls {
  readonly client: Client;
  readonly url: string;
  /** The caller of a request: `client.checkin.checkIn({ ...as(token), body })`. */
  as(token: string): { readonly headers: Record<string, string> };
}

const TOO_BUSY = [429, 503];
const MOST_TRIES = 20;

export function callsTo(url: string, rhythm: Rhythm): Calls {
  /** A busy machine is no reason to fail: a request that is told to come later does. */
  async function patient(...request: Parameters<typeof fetch>): Promise<Response> {
    for (let tried = 1; ; tried += 1) {
      const response = await fetch(...request);
      if (!TOO_BUSY.includes(response.status) || tried === MOST_TRIES || rhythm.isOver) return response;
      await response.body?.cancel();
      await rhythm.pause(1_000 * (Number(response.headers.get('retry-after')) || 1));
    }
  }

  return {
    // one client for all: a thousand of them would take most of the fleet's memory
    client: createClient({ url, fetch: patient }),
    url,
    as: (token) => ({ headers: { authorization: `Bearer ${token}` } }),
  };
}
