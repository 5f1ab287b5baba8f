import type { Report, ReportAnswer } from './report.ts';

/** One attempt of something to do, whatever it is: the loop knows no more of it than this. */
export interface Work {
  readonly id: string;
  readonly attempt: number;
  readonly cancelRequested?: boolean;
}

/** An attempt that was begun; `stopping`: nobody has to say that it is to be stopped. */
export interface Alive {
  readonly id: string;
  readonly attempt: number;
  readonly stopping: boolean;
}

/** What the server says about when to come next. */
export interface Advice {
  readonly afterMs: number;
  readonly waitSeconds: number | null;
}

/** An attempt that is to be stopped, and a sentence about it. */
export interface Stop {
  readonly id: string;
  readonly attempt: number;
  readonly why: string;
}

/** What another instance with the same token holds. */
export interface Elsewhere {
  readonly id: string;
  readonly attempt: number;
  readonly instance: string | null;
  readonly since: string;
  readonly until: string;
}

export interface Polled<W extends Work> {
  readonly work: W[];
  readonly advice: Advice;
  readonly elsewhere: Elsewhere | null;
  /** What is to be stopped: the answer came for that. */
  readonly stops: readonly Stop[];
}

/** The server, as whoever works for it sees it. A request without an answer throws, and so does a refusal. */
export interface WorkServer<W extends Work> {
  /** Said once, before anything is asked: which instance this is, of several with one token. */
  introduce(instance: string): void;
  /** Takes new work, and waits for it if there is none. */
  poll(max: number, waitSeconds: number, signal: AbortSignal): Promise<Polled<W>>;
  /** Everything that is handed out to this instance and not reported. */
  running(signal: AbortSignal): Promise<{ work: W[]; elsewhere: Elsewhere | null }>;
  report(report: Report, signal: AbortSignal): Promise<ReportAnswer>;
  /** A sign of life for these; waits so long for something that is to be stopped, and tells of it. */
  beat(work: readonly Alive[], waitSeconds: number, signal: AbortSignal): Promise<Stop[]>;
}

/** Names one attempt, which is run at most once. */
export function keyOf({ id, attempt }: { id: string; attempt: number }): string {
  return `${id}:${attempt}`;
}
