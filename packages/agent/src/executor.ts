import type { AgentAction } from './wire.ts';

/** Whatever does the work. It is called at most once for an attempt; what it throws is a failure. */
export type Executor = (action: AgentAction, context: ExecutionContext) => Promise<Outcome>;

export interface ExecutionContext {
  /** Aborted when an operator cancelled the action, or the agent has to stop. */
  readonly signal: AbortSignal;
}

export interface Outcome {
  readonly status: 'succeeded' | 'failed';
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
}
