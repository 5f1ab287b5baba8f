import { BoundedMap } from '../bounded-map.ts';

/**
 * How many more a lane surely takes, so that not each enqueue counts what is in it (0.12 ms behind 900): of the room that a count has
 * found, a node gives away half before it counts again. One call after the other it never gives away too much, but for what a
 * transaction had taken away when it counted and that is rolled back. A count does not see what is in flight beside it, in other
 * statements (500 actions each) or open transactions: so much may come on top, and half of the limit for each of them and for each
 * further node that enqueues into the lane. No lock is worth more than a limit that is kept roughly then.
 *
 * 190 bytes a lane. Of more lanes than this that are used in turn, none is remembered when its turn comes again.
 */
const MOST_LANES = 200_000;

export class LaneRooms {
  readonly #left = new BoundedMap<string, number>(MOST_LANES);

  /** Takes a place if it is there; if not, somebody has to count. */
  take(lane: string): boolean {
    const left = this.#left.get(lane);
    if (left === undefined || left < 1) return false;
    this.#left.set(lane, left - 1);
    return true;
  }

  /** A count has found so much room. */
  found(lane: string, room: number): void {
    this.#left.delete(lane); // what was counted last is the last to be forgotten
    if (room >= 2) this.#left.set(lane, Math.floor(room / 2));
  }

  /** Something was put in by a way that counts. */
  forget(lane: string): void {
    this.#left.delete(lane);
  }
}
