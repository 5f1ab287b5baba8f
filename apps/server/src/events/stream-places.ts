import { FEED_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

/**
 * Bounds the event streams open at this node, of every kind. A tenant gets at most three of four places, so none can
 * take them all.
 */
const feedError = errorsOf(FEED_ERRORS);
const LARGEST_SHARE = 0.75;
const RETRY_SECONDS = 5;

export class StreamPlaces {
  readonly #most: number;
  readonly #ofTenant = new Map<number, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return [...this.#ofTenant.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Takes a place; returns a function that leaves it. */
  enter(tenantId: number): () => void {
    const ofTenant = this.#ofTenant.get(tenantId) ?? 0;
    if (this.count >= this.#most || ofTenant >= Math.ceil(this.#most * LARGEST_SHARE))
      throw feedError(
        'MUSTER_TOO_MANY_STREAMS',
        `The limit of open event streams of this ${this.count >= this.#most ? 'node' : 'tenant'} is reached.`,
        { retryAfter: RETRY_SECONDS },
      );
    this.#ofTenant.set(tenantId, ofTenant + 1);
    return () => {
      const left = (this.#ofTenant.get(tenantId) ?? 1) - 1;
      if (left === 0) this.#ofTenant.delete(tenantId);
      else this.#ofTenant.set(tenantId, left);
    };
  }
}
