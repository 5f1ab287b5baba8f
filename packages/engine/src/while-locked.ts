import type { Connections, Database, Limits, Transaction } from './db.ts';
import { isLaneBusy, laneBusy, noAnswer, overloaded } from './errors.ts';
import { isLockError } from './sqlstate.ts';
import { Turns } from './turns.ts';

/**
 * A transaction that is run again as a whole while a lock of another transaction blocks it. Between tries nothing is held,
 * neither a connection nor a lock: twelve cancels of a locked lane that waited on their connections delayed all other
 * callers by 5.5 s. So `run` must do nothing that a rollback does not undo.
 *
 * Waiting for turns, tries and pauses share the caller's deadline:
 *
 *   first turn ──► try ──► done
 *       │          │ ▲└─deadline──► "not known"
 *       │   locked─┘ └─pause, next turn ──too late for another try──► "busy"
 *       └─no turn in time──► "nothing was done"
 */
const LOCK_MS = 100;
const LONGEST_PAUSE_MS = 400;
/** Of the ten connections: the others are for reads. */
const MOST_AT_ONCE = 6;

/** The part of its time that a call waits for its first turn: later steps take the rest, if the database hangs. */
const FOR_TURN = 0.4;
/** With less than this part left a call does not try again: it would be in the middle of a try at its deadline. */
const LAST_TRY = 0.1;

const turns = new WeakMap<Connections, Turns>();

export async function whileLocked<T>(
  db: Database,
  run: (tx: Transaction) => Promise<T>,
  limits: Limits = {},
): Promise<T> {
  const called = performance.now();
  const lastTry = called + db.deadlineMs * (1 - LAST_TRY);
  const own = turns.get(db) ?? new Turns(MOST_AT_ONCE);
  turns.set(db, own);
  await own.take('first', called + db.deadlineMs * FOR_TURN, overloaded);
  for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    // The turn lasts as long as the try does, even when its caller has gone.
    const attempt = db.transaction(run, { lockMs: LOCK_MS, ...limits }).finally(() => own.giveBack());
    try {
      // A caller with its own statement limit knows how long it waits for a statement.
      return await (limits.statementMs === undefined ? before(called + db.deadlineMs, attempt) : attempt);
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() + pauseMs > lastTry) throw laneBusy();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await own.take('again', lastTry, laneBusy);
  }
}

function isLocked(error: unknown): boolean {
  return isLockError(error) || isLaneBusy(error);
}

function before<T>(deadline: number, attempt: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(noAnswer()), deadline - performance.now());
    attempt.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
