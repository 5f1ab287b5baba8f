import type { Connections, Database, Limits, Transaction } from './db.ts';
import { EngineError, laneBusy, overloaded } from './errors.ts';
import { Line } from './line.ts';
import { isLockError } from './sqlstate.ts';

/**
 * A transaction that is run again as a whole while somebody's lock is in its way. In between nothing is held, neither a
 * connection nor a lock: twelve cancels of a locked lane that waited on their connections kept everybody else waiting for
 * 5.5 s. So `run` must do nothing that a rollback does not undo.
 */
const LOCK_MS = 100;
const LONGEST_PAUSE_MS = 400;
/** Of the ten connections: the others are for those who read. */
const MOST_AT_ONCE = 6;

/** Whoever comes when so many wait for their turn is refused at once. */
const MOST_WAITING = 2_000;
/** The part of his time that somebody waits for his turn: what comes after it takes the rest, if the database hangs. */
const FOR_TURN = 0.4;

const turns = new WeakMap<Connections, Turns>();

export async function whileLocked<T>(
  db: Database,
  run: (tx: Transaction) => Promise<T>,
  limits: Limits = {},
): Promise<T> {
  const until = performance.now() + db.deadlineMs;
  const own = turns.get(db) ?? new Turns();
  turns.set(db, own);
  for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    await own.take(db.deadlineMs * FOR_TURN);
    try {
      return await db.transaction(run, { lockMs: LOCK_MS, ...limits });
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() + pauseMs > until) throw laneBusy();
    } finally {
      own.giveBack();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function isLocked(error: unknown): boolean {
  return isLockError(error) || (error instanceof EngineError && error.code === 'MUSTER_LANE_BUSY');
}

/** So many at once, the others in the order in which they came. */
class Turns {
  readonly #waiting = new Line<() => void>();
  #running = 0;

  take(withinMs: number): Promise<void> {
    if (this.#running < MOST_AT_ONCE) {
      this.#running += 1;
      return Promise.resolve();
    }
    if (this.#waiting.size >= MOST_WAITING) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const place = this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
      const timer = setTimeout(() => {
        this.#waiting.remove(place);
        reject(overloaded());
      }, withinMs);
    });
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
