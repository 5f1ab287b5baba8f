import { BoundedMap } from '../bounded-map.ts';

/**
 * How many more a lane surely takes, so that not each enqueue counts what is in it (0.12 ms behind 900): of the room that a count has
 * found, a node gives away half before it counts again. What comes into the lane by another way makes it forget: what this library
 * redrives or gives back to a pool, here and at other nodes, and what plain SQL puts in, both with the wake-up that follows the commit.
 *
 * One call after the other it never gives away too much, but for what a transaction had taken away when it counted and that is rolled
 * back, for the one action of a pool that its worker holds there, and for what plain SQL has put in and this node has not yet heard of:
 * not committed, on its way (some milliseconds, or until the listener has a connection again), or all of it at a node that was never
 * started. A count does not see what is in flight beside it, in other statements (500 actions each) or open transactions: so much may
 * come on top, and half of the limit for each of them and for each further node that enqueues into the lane. No lock is worth more
 * than a limit that is kept roughly then.
 *
 * 177 bytes a lane with 200,000 of them, and up to 234 once places were used again. Of more lanes than this that are used in turn, none is remembered when its turn comes again.
 */
const MOST_LANES = 200_000;

export class LaneRooms {
  #left = new BoundedMap<string, number>(MOST_LANES);

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

  /** Something was put in by another way. */
  forget(lane: string): void {
    this.#left.delete(lane);
  }

  forgetAll(): void {
    this.#left = new BoundedMap(MOST_LANES);
  }
}
