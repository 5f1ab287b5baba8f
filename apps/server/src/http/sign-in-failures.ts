import { BoundedMap } from '@muster/engine';
import { countedAddress } from './client-address.ts';

/**
 * Counts unknown tokens per address and minute. Only failures are counted and refused: a valid token is accepted from
 * any address, however many others fail from there.
 */
const WINDOW_MS = 60_000;
/** Beyond this many addresses the oldest is forgotten: 10,000 take about two megabytes. */
const MOST_ADDRESSES = 10_000;

export class SignInFailures {
  readonly #byAddress: BoundedMap<string, { count: number; readonly until: number }>;
  readonly #mostPerMinute: number;
  readonly #now: () => number;

  constructor(mostPerMinute: number, now: () => number, mostAddresses = MOST_ADDRESSES) {
    this.#byAddress = new BoundedMap(mostAddresses);
    this.#mostPerMinute = mostPerMinute;
    this.#now = now;
  }

  get addresses(): number {
    return this.#byAddress.size;
  }

  /** Without counting: in how many seconds this address may try again; 0: now. */
  left(ip: string): number {
    const entry = this.#byAddress.get(countedAddress(ip));
    const now = this.#now();
    if (!entry || entry.until <= now || entry.count < this.#mostPerMinute) return 0;
    return Math.ceil((entry.until - now) / 1_000);
  }

  /** Counts one failure. Past the limit: in how many seconds the address may try again; until then 0. */
  count(ip: string): number {
    const address = countedAddress(ip);
    const now = this.#now();
    let entry = this.#byAddress.get(address);
    if (!entry || entry.until <= now) {
      entry = { count: 0, until: now + WINDOW_MS };
      this.#byAddress.delete(address); // moved to the end: the newest is forgotten last
      this.#byAddress.set(address, entry);
    }
    entry.count += 1;
    return entry.count > this.#mostPerMinute ? Math.ceil((entry.until - now) / 1_000) : 0;
  }
}
