import type { Executor, Outcome } from './executor.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import type { Report } from './report.ts';
import type { AttemptTracing } from './tracing.ts';
import { keyOf, type Work } from './work.ts';

export const CANCELLED = 'CANCELLED: an operator cancelled it.';
export const GIVEN_UP = 'GIVEN_UP: the server no longer waits for this attempt.';

/**
 * The attempts of this process, from their arrival until the server has their results:
 *
 *   came ──lane free, slot free──► started (on disk) ──► running ──► result (on disk) ──► delivered
 *     └─ cancelled, or the process stops ──► never started
 *
 * One at a time per lane (a service, a device): an attempt whose lease was lost may still be running here when the next
 * attempt comes.
 */
interface Held<W> {
  readonly work: W;
  readonly controller: AbortController;
  isOver: boolean;
}

export interface AttemptsOptions<W extends Work> {
  readonly execute: Executor<W>;
  readonly journal: Journal;
  readonly log: AgentLog;
  readonly most: number;
  readonly laneOf: (work: W) => string;
  /** For the log. */
  readonly nameOf: (work: W) => string;
  /** The environment variables of an attempt's processes. */
  readonly marksOf: (work: W) => Readonly<Record<string, string>>;
  /** The report of an attempt that a stop has ended. */
  readonly stoppedMessage: string;
  readonly tracing?: AttemptTracing | undefined;
  /** Its start is on the disk. */
  readonly onStarted?: ((work: W) => void) | undefined;
  /** When it ended, by `performance.now()`: writing it down may take a while. */
  readonly onResult: (report: Report, endedAt: number) => void;
}

export class Attempts<W extends Work> {
  readonly #options: AttemptsOptions<W>;
  /** Until their results are delivered. */
  readonly #held = new Map<string, Held<W>>();
  /** The last attempt of each lane, to wait for. */
  readonly #byLane = new Map<string, Promise<void>>();
  readonly #work = new Set<Promise<void>>();
  readonly #waitingForSlot: (() => void)[] = [];
  readonly #waitingForRoom: (() => void)[] = [];
  readonly #waitingForWork = new Set<() => void>();
  #running = 0;
  #stopping = false;

  constructor(options: AttemptsOptions<W>) {
    this.#options = options;
  }

  /** How many more can start now. */
  get free(): number {
    return this.#options.most - this.#work.size;
  }

  /** Resolves when there may be room for one more, or when another event wakes it. */
  room(): Promise<void> {
    if (this.free > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  wake(): void {
    for (const resolve of this.#waitingForRoom.splice(0)) resolve();
  }

  /** Attempts without a result, and those whose result the server does not have yet. */
  get held(): W[] {
    return [...this.#held.values()].map(({ work }) => work);
  }

  get unfinished(): W[] {
    return [...this.#held.values()].filter(({ isOver }) => !isOver).map(({ work }) => work);
  }

  /** Starts an attempt, unless it was started before. */
  accept(work: W): void {
    const key = keyOf(work);
    if (this.#stopping || this.#held.has(key) || this.#options.journal.knows(work)) return;
    const held: Held<W> = { work, controller: new AbortController(), isOver: false };
    this.#held.set(key, held);
    for (const tell of this.#waitingForWork) tell();
    if (work.cancelRequested) this.cancel(work, CANCELLED);
    const lane = this.#options.laneOf(work);
    const before = this.#byLane.get(lane) ?? Promise.resolve();
    const doing = before.then(() => this.#perform(held));
    this.#byLane.set(lane, doing);
    this.#work.add(doing);
    void doing.finally(() => {
      this.#work.delete(doing);
      this.wake();
      if (this.#byLane.get(lane) === doing) this.#byLane.delete(lane);
    });
  }

  /** Calls back whenever an attempt is accepted, until the returned function is called. */
  onAccepted(tell: () => void): () => void {
    this.#waitingForWork.add(tell);
    return () => this.#waitingForWork.delete(tell);
  }

  /** Asks it to stop; returns true if it was running and had not been asked before. */
  cancel(of: { id: string; attempt: number }, why: string): boolean {
    const held = this.#held.get(keyOf(of));
    if (!held || held.isOver || held.controller.signal.aborted) return false;
    held.controller.abort(new Error(why));
    return true;
  }

  /** It is over, or is being ended. */
  isStopping(of: { id: string; attempt: number }): boolean {
    const held = this.#held.get(keyOf(of));
    return !held || held.isOver || held.controller.signal.aborted;
  }

  /** The server has its result. */
  forget(of: { id: string; attempt: number }): void {
    this.#held.delete(keyOf(of));
  }

  /** All running attempts are ended and reported as such. */
  endAll(): void {
    for (const { controller } of this.#held.values())
      controller.abort(new Error(this.#options.stoppedMessage));
  }

  /** Starts nothing new; running attempts may finish, and are ended when the time is over. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const next of this.#waitingForSlot.splice(0)) next();
    const timer = setTimeout(() => this.endAll(), graceMs);
    await Promise.all(this.#work);
    clearTimeout(timer);
  }

  async #perform(held: Held<W>): Promise<void> {
    const { journal, log, nameOf, onResult, tracing } = this.#options;
    await this.#slot();
    try {
      // Nothing was started: the server still holds it for this process, and the next start finds it.
      if (this.#stopping) return;
      const { id: actionId, attempt } = held.work;
      const traced = tracing?.began(actionId, attempt, nameOf(held.work));
      const report = { actionId, attempt, ...(await this.#run(held)) };
      traced?.(report.status === 'succeeded');
      held.isOver = true;
      const endedAt = performance.now();
      await journal.result(report).catch((error) => {
        // It is delivered from memory; a crash before that is reported as interrupted.
        log.warn(`The journal could not be written: ${String(error)}`);
      });
      onResult(report, endedAt);
    } finally {
      this.#running -= 1;
      this.#waitingForSlot.shift()?.();
    }
  }

  async #run({ work, controller: { signal } }: Held<W>): Promise<Outcome> {
    const { execute, journal, log, marksOf, nameOf, onStarted } = this.#options;
    if (signal.aborted) return { status: 'failed', message: String((signal.reason as Error).message) };
    try {
      await journal.started(work);
    } catch (error) {
      return { status: 'failed', message: `NOT_STARTED: the journal could not be written: ${String(error)}` };
    }
    onStarted?.(work);
    try {
      const begins = () => log.info(`${nameOf(work)} begins.`);
      return await execute(work, { signal, marks: marksOf(work), begins });
    } catch (error) {
      return { status: 'failed', message: `The executor failed: ${String(error)}`.slice(0, 2_000) };
    }
  }

  /** Up to the limit run at once; others wait in order of arrival. */
  async #slot(): Promise<void> {
    if (this.#running >= this.#options.most && !this.#stopping)
      await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    this.#running += 1;
  }
}
