import type { AgentAction } from './wire.ts';
import type { Work } from './work.ts';

/** Does the work. It is called at most once per attempt; an error it throws is a failure. */
export type Executor<W extends Work = AgentAction> = (work: W, context: ExecutionContext) => Promise<Outcome>;

export interface ExecutionContext {
  /** Aborted when an operator cancelled it, or the process has to stop. */
  readonly signal: AbortSignal;
  /** Variables for every process it starts: leftovers of a crash are recognised by them, and ended. */
  readonly marks: Readonly<Record<string, string>>;
  /** Call it when something really starts, for the log; an executor that refuses an attempt does not. */
  readonly begins: () => void;
}

export interface Outcome {
  readonly status: 'succeeded' | 'failed';
  /** For a failure: another try would not help. */
  readonly final?: true | undefined;
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
  /** It failed because its time was over; only runners report that. */
  readonly timedOut?: true | undefined;
  /** Any JSON; only runners have one. */
  readonly result?: unknown;
}
