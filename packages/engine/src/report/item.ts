import type { ClaimedAction } from '../claimed-action.ts';

/** What goes into the report operation and what comes out. */
export interface ReportItem {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  /**
   * `timeout`: its time is over, and whoever works on it says so before housekeeping does. `unreached`: released, and nothing is
   * counted, because nobody ever had it or a person took it back.
   */
  readonly outcome: 'succeeded' | 'failed' | 'timeout' | 'not_now' | 'released' | 'unreached';
  /** Of a failure: it is the last try, however many there might be. */
  readonly final?: boolean | undefined;
  /** Of a success: who or what made it one. */
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
  /** Where the caller thinks that it was handed out: a hint. */
  readonly leasedIn?: string | undefined;
  readonly next?: { readonly channel: string; readonly worker: string; readonly leaseMs: number } | undefined;
}

export interface ReportAnswer {
  readonly accepted: boolean;
  /** The state that the report led to, or, if it was not accepted, the present one; null for an unknown action. */
  readonly state: string | null;
  readonly reason: 'LATE' | 'UNKNOWN_ACTION' | null;
  /** The lane of the action, if it is known. */
  readonly laneId: string | null;
  /** The attempt had ended before by the same report. */
  readonly repeated: boolean;
  /** This very report ended the running attempt; `next` was looked for in the same breath. */
  readonly settled: boolean;
  readonly next: ClaimedAction | null;
}
