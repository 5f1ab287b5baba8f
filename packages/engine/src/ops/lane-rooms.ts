import { BoundedMap } from '../bounded-map.ts';

/**
 * How many more actions a lane surely takes, so that not each enqueue counts what is in it (0.12 ms behind 900): of the room that a count
 * has found, a node gives away half before it counts again. It forgets the room when actions come into the lane by another way: by a
 * redrive or a return to a pool, here or at other nodes, and by plain SQL, with the wake-up that follows the commit.
 *
 * A count does not see what is in flight beside it, in other statements (500 actions each) or open transactions, nor the action that each
 * worker of a pool holds; plain SQL is unknown until its wake-up arrives (some milliseconds; at a node that was never started, never);
 * and what a transaction removed before it counted is back if it is rolled back. So much may come on top, and half of the limit for each
 * further node that enqueues into the lane: a lock would cost more than a limit that is kept roughly.
 *
 * 177 bytes a lane with 200,000 of them, 234 once places were used again. Of more lanes than that, used in turn, none is remembered when
 * its turn comes again.
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
