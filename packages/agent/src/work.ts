import type { Report, ReportAnswer } from './report.ts';

/** One attempt of anything to do: the loop knows no more of it than this. */
export interface Work {
  readonly id: string;
  readonly attempt: number;
  readonly cancelRequested?: boolean;
}

/** A started attempt; `stopping`: the server need not repeat that it must stop. */
export interface Alive {
  readonly id: string;
  readonly attempt: number;
  readonly stopping: boolean;
}

/** The server's advice on when to ask next. */
export interface Advice {
  readonly afterMs: number;
  readonly waitSeconds: number | null;
}

/** An attempt that must stop, and a sentence about it. */
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
  /** The attempts to stop: the answer came for these. */
  readonly stops: readonly Stop[];
}

/** The server, as a worker sees it. A refusal or a missing answer throws. */
export interface WorkServer<W extends Work> {
  /** Called once, before any request: names this instance, of several with one token. */
  introduce(instance: string): void;
  /** Takes new work, and waits for it if there is none. */
  poll(max: number, waitSeconds: number, signal: AbortSignal): Promise<Polled<W>>;
  /** Everything handed out to this instance and not reported. */
  running(signal: AbortSignal): Promise<{ work: W[]; elsewhere: Elsewhere | null }>;
  report(report: Report, signal: AbortSignal): Promise<ReportAnswer>;
  /** A heartbeat for these; waits this long for attempts that must stop, and returns them. */
  beat(work: readonly Alive[], waitSeconds: number, signal: AbortSignal): Promise<Stop[]>;
}

/** Names one attempt, which is run at most once. */
export function keyOf({ id, attempt }: { id: string; attempt: number }): string {
  return `${id}:${attempt}`;
}
