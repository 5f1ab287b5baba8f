import type { ClaimedAction } from '../claimed-action.ts';

/** The report operation's input and output. */
export interface ReportItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  /**
   * `timeout`: its time is over, and its worker says so before housekeeping does. `unreached`: released without
   * counting, because it never reached a worker or an operator took it back.
   */
  readonly outcome: 'succeeded' | 'failed' | 'timeout' | 'not_now' | 'released' | 'unreached';
  /** For a failure: no more tries, however many are left. */
  readonly final?: boolean | undefined;
  /** For a success: who or what reported it. */
  readonly reason?: string | undefined;
  readonly worker?: string | undefined;
  readonly error?: string | undefined;
  /** JSON text. */
  readonly result?: string | undefined;
  /** After a NotNow: when to try again, instead of the usual wait. */
  readonly delayMs?: number | undefined;
  /** Only an action of this channel, or for any; others are unknown to the caller. */
  readonly channel?: string | undefined;
  /** Only an action of this lane; others are unknown to the caller. */
  readonly laneId?: string | undefined;
  /** A hint: the lane where the caller thinks that it was handed out. */
  readonly leasedIn?: string | undefined;
  readonly next?: { readonly channel: string; readonly worker: string; readonly leaseMs: number } | undefined;
}

export interface ReportAnswer {
  readonly accepted: boolean;
  /** The state that the report led to or, if it was not accepted, the present one; null for an unknown action. */
  readonly state: string | null;
  readonly reason: 'LATE' | 'UNKNOWN_ACTION' | null;
  /** The lane of the action, if known. */
  readonly laneId: string | null;
  /** The same report had already ended the attempt. */
  readonly repeated: boolean;
  /** This report ended the running attempt; `next` was looked for in the same statement. */
  readonly settled: boolean;
  readonly next: ClaimedAction | null;
}
