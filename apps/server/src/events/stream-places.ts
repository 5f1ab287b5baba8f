import { FEED_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

/** Streams of events that may be open at this node, of whatever kind. Nobody can take all places: of each four a tenant gets three at most. */
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

  /** Takes a place; returns how to leave it. */
  enter(tenantId: number): () => void {
    const ofTenant = this.#ofTenant.get(tenantId) ?? 0;
    if (this.count >= this.#most || ofTenant >= Math.ceil(this.#most * LARGEST_SHARE))
      throw feedError(
        'MUSTER_TOO_MANY_STREAMS',
        `${this.count >= this.#most ? 'Here' : 'Of this tenant'} are as many event streams open as may be.`,
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
