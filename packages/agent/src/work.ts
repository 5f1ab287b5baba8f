import type { Report, ReportAnswer } from './report.ts';

/** One attempt of something to do, whatever it is: the loop knows no more of it than this. */
export interface Work {
  readonly id: string;
  readonly attempt: number;
  readonly cancelRequested?: boolean;
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

/** The server, as whoever works for it sees it. A request without an answer throws, and so does a refusal. */
export interface WorkServer<W extends Work> {
  /** Takes new work, and waits for it if there is none. */
  poll(max: number, waitSeconds: number, signal: AbortSignal): Promise<{ work: W[]; advice: Advice }>;
  /** Everything that is handed out and not reported. */
  running(signal: AbortSignal): Promise<W[]>;
  report(report: Report, signal: AbortSignal): Promise<ReportAnswer>;
  /** A sign of life for these; tells which of them are to be stopped. */
  beat(work: readonly W[], signal: AbortSignal): Promise<Stop[]>;
}

/** Names one attempt, which is run at most once. */
export function keyOf({ id, attempt }: { id: string; attempt: number }): string {
  return `${id}:${attempt}`;
}
