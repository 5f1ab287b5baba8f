/**
 * How many urgent actions of a pool this node handed out since the last normal one, so that at least every n-th claim
 * takes a normal one. In memory: a counter in the database would be one row that every claim writes. Each node counts
 * for itself: with m nodes up to m × (n − 1) urgent ones may follow each other, while of all claims at least every n-th
 * takes a normal one. A node that has just started counts from zero.
 */
interface OfPool {
  readonly tenantId: number;
  readonly poolId: string;
  readonly channel: string;
  readonly normalShare?: number | undefined;
}

export class PoolTurns {
  readonly #streaks = new Map<string, number>();

  streak(of: OfPool): number {
    if (!of.normalShare) return 0;
    return Math.min(this.#streaks.get(keyOf(of)) ?? 0, of.normalShare - 1);
  }

  took(of: OfPool, urgent: boolean): void {
    if (!of.normalShare) return;
    this.#streaks.set(keyOf(of), urgent ? this.streak(of) + 1 : 0);
  }
}

const keyOf = ({ tenantId, poolId, channel }: OfPool) => `${tenantId}:${poolId}:${channel}`;
