import { type BlockList, isIP } from 'node:net';
import { isListed } from '../http/client-address.ts';
import { isPublic } from './public-addresses.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** The addresses of a host; throws if there are none. The signal aborts the look-up. */
export type Resolve = (host: string, signal?: AbortSignal) => Promise<readonly ResolvedAddress[]>;

export type Resolved =
  | { readonly outcome: 'allowed'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly outcome: 'forbidden' | 'unknown-host'; readonly text: string };

/**
 * Where this server may send requests to user-supplied addresses: to the public internet, and to what the settings
 * allow. A name is resolved once, and the checked address is the one that is dialled: a name that resolves differently
 * a moment later gains nothing.
 */
export class AllowRule {
  readonly #allowed: BlockList;
  readonly #resolve: Resolve;

  constructor(allowed: BlockList, resolve: Resolve) {
    this.#allowed = allowed;
    this.#resolve = resolve;
  }

  async resolve(url: URL, signal?: AbortSignal): Promise<Resolved> {
    const host = hostOf(url);
    const family = isIP(host);
    let found: readonly ResolvedAddress[];
    try {
      found = family === 0 ? await this.#resolve(host, signal) : [{ address: host, family }];
    } catch (error) {
      return {
        outcome: 'unknown-host',
        text: `${host} does not resolve: ${(error as Error).message.replace(/\.$/, '')}.`,
      };
    }
    const addresses = found.filter(({ address }) => this.#allows(address));
    if (addresses.length > 0) return { outcome: 'allowed', addresses };
    return {
      outcome: 'forbidden',
      text: `${host} is in a network that requests may not be sent to; MUSTER_OUTGOING_ALLOW can allow it.`,
    };
  }

  /** Forbidden without a look-up: a literal address that is not allowed. */
  forbids(url: URL): boolean {
    const host = hostOf(url);
    return isIP(host) !== 0 && !this.#allows(host);
  }

  #allows(address: string): boolean {
    return isPublic(address) || isListed(this.#allowed, address);
  }
}

/** IPv6 addresses are in brackets in a URL. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
