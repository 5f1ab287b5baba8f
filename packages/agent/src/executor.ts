import type { AgentAction } from './wire.ts';
import type { Work } from './work.ts';

/** Whatever does the work. It is called at most once for an attempt; what it throws is a failure. */
export type Executor<W extends Work = AgentAction> = (work: W, context: ExecutionContext) => Promise<Outcome>;

export interface ExecutionContext {
  /** Aborted when an operator cancelled it, or the process has to stop. */
  readonly signal: AbortSignal;
  /** Variables for every process that it starts: what a crash leaves behind is known by them, and ended. */
  readonly marks: Readonly<Record<string, string>>;
  /** To be called when something really begins, for the log; whoever refuses an attempt does not. */
  readonly begins: () => void;
}

export interface Outcome {
  readonly status: 'succeeded' | 'failed';
  /** Of a failure: there is no use in another try. */
  readonly final?: true | undefined;
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
  /** It failed because its time was over; only runners say so. */
  readonly timedOut?: true | undefined;
  /** Any JSON; only runners have one. */
  readonly result?: unknown;
}
