import type { Executor, Outcome } from './executor.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import { type AgentAction, keyOf, type Report } from './wire.ts';

/**
 * The actions that this host holds, from the moment they came until the server has their results:
 *
 *   came ──service free, slot free──► started (on disk) ──► running ──► result (on disk) ──► delivered
 *     └─ cancelled, or the agent stops ──► never started
 *
 * One at a time per service: an attempt whose lease was lost may still be running here when the next attempt comes.
 */
interface Task {
  readonly action: AgentAction;
  readonly controller: AbortController;
}

export class Tasks {
  readonly #execute: Executor;
  readonly #journal: Journal;
  readonly #log: AgentLog;
  readonly #most: number;
  readonly #onResult: (report: Report) => void;
  /** Until their results are delivered. */
  readonly #tasks = new Map<string, Task>();
  /** The last task of each service, to wait for. */
  readonly #byService = new Map<string, Promise<void>>();
  readonly #work = new Set<Promise<void>>();
  readonly #waitingForSlot: (() => void)[] = [];
  readonly #waitingForRoom: (() => void)[] = [];
  #running = 0;
  #stopping = false;

  constructor(options: {
    execute: Executor;
    journal: Journal;
    log: AgentLog;
    most: number;
    onResult: (report: Report) => void;
  }) {
    this.#execute = options.execute;
    this.#journal = options.journal;
    this.#log = options.log;
    this.#most = options.most;
    this.#onResult = options.onResult;
  }

  /** How many more actions can be begun at once. */
  get free(): number {
    return this.#most - this.#work.size;
  }

  /** Resolves when there may be room for one more, or when somebody wakes it. */
  room(): Promise<void> {
    if (this.free > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  wake(): void {
    for (const resolve of this.#waitingForRoom.splice(0)) resolve();
  }

  get held(): { id: string; attempt: number }[] {
    return [...this.#tasks.values()].map(({ action: { id, attempt } }) => ({ id, attempt }));
  }

  get leaseMs(): number[] {
    return [...this.#tasks.values()].map(
      ({ action }) => Date.parse(action.leaseUntil) - Date.parse(action.startedAt),
    );
  }

  /** Begins an attempt, unless it was begun before. */
  accept(action: AgentAction): void {
    const key = keyOf(action);
    if (this.#stopping || this.#tasks.has(key) || this.#journal.knows(action)) return;
    const task: Task = { action, controller: new AbortController() };
    this.#tasks.set(key, task);
    if (action.cancelRequested) this.cancel(action);
    const before = this.#byService.get(action.serviceId) ?? Promise.resolve();
    const work = before.then(() => this.#perform(task));
    this.#byService.set(action.serviceId, work);
    this.#work.add(work);
    void work.finally(() => {
      this.#work.delete(work);
      this.wake();
      if (this.#byService.get(action.serviceId) === work) this.#byService.delete(action.serviceId);
    });
  }

  cancel(of: { id: string; attempt: number }): void {
    this.#tasks.get(keyOf(of))?.controller.abort(new Error('CANCELLED: an operator cancelled it.'));
  }

  /** The server has its result. */
  forget(of: { id: string; attempt: number }): void {
    this.#tasks.delete(keyOf(of));
  }

  /** Nothing new is begun; what runs may finish, and is ended when the time is over. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    for (const next of this.#waitingForSlot.splice(0)) next();
    const timer = setTimeout(() => {
      for (const { controller } of this.#tasks.values())
        controller.abort(new Error('INTERRUPTED: the agent was stopped.'));
    }, graceMs);
    await Promise.all(this.#work);
    clearTimeout(timer);
  }

  async #perform(task: Task): Promise<void> {
    await this.#slot();
    try {
      // Nothing was begun: the server still holds it for this host, and the next start finds it.
      if (this.#stopping) return;
      const report = { actionId: task.action.id, attempt: task.action.attempt, ...(await this.#run(task)) };
      await this.#journal.result(report).catch((error) => {
        // It is delivered from memory; a crash before that is reported as interrupted.
        this.#log.warn(`The journal could not be written: ${String(error)}`);
      });
      this.#onResult(report);
    } finally {
      this.#running -= 1;
      this.#waitingForSlot.shift()?.();
    }
  }

  async #run({ action, controller: { signal } }: Task): Promise<Outcome> {
    if (signal.aborted) return { status: 'failed', message: String((signal.reason as Error).message) };
    try {
      await this.#journal.started(action);
    } catch (error) {
      return {
        status: 'failed',
        message: `NOT_STARTED: the journal of the agent could not be written: ${String(error)}`,
      };
    }
    this.#log.info(
      `Action ${action.id}, attempt ${action.attempt}: ${action.kind} ${action.service.unitName}`,
    );
    try {
      return await this.#execute(action, { signal });
    } catch (error) {
      return { status: 'failed', message: `The executor failed: ${String(error)}`.slice(0, 2_000) };
    }
  }

  /** As many run at once as the agent was told; others wait in the order they came. */
  async #slot(): Promise<void> {
    if (this.#running >= this.#most && !this.#stopping)
      await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    this.#running += 1;
  }
}
