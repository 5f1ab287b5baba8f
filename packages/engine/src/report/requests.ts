import type { ClaimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import { EngineError } from '../errors.ts';
import type { ClaimAnswer, ClaimItem } from '../ops/claim.ts';
import { checkAttempt, checkText, encodeJson } from '../text.ts';
import {
  checkLane,
  checkLease,
  checkName,
  checkOneOf,
  checkTenant,
  checkWhole,
  ifGiven,
  isId,
} from '../values.ts';
import type { ReportAnswer, ReportItem } from './item.ts';

/** A worker's report at the end of an attempt. */
export interface ReportRequest {
  readonly tenantId: number;
  readonly actionId: string;
  readonly attempt: number;
  /**
   * timedOut: its time is over; it means the same as the end of its lease, and an error only goes to the history.
   * unreached: it never reached a worker, so it is given back and nothing is counted, however often.
   */
  readonly status: 'succeeded' | 'failed' | 'timedOut' | 'notNow' | 'unreached';
  /** For a failure: it would fail again on every try, so this was the last one. */
  readonly final?: boolean | undefined;
  /** For a success: the reason of its ending, in capitals; SUCCEEDED by default. */
  readonly reason?: string | undefined;
  readonly worker?: string | undefined;
  readonly error?: string | undefined;
  readonly result?: unknown;
  /** After notNow: when to try again, instead of the usual wait. */
  readonly retryAfterMs?: number | undefined;
  /** Only an action of this channel, or for any, as for a claim. */
  readonly channel?: string | undefined;
  /** Only an action of this lane; any other is unknown. The next action also comes from this lane. */
  readonly laneId?: string | undefined;
  /**
   * The lane it was handed out in, according to its claim: a success then needs no look-up. A wrong one changes
   * nothing.
   */
  readonly leasedIn?: string | undefined;
  /** Claim the lane's next action in the same statement. */
  readonly next?:
    | {
        readonly channel: string;
        readonly worker: string;
        readonly leaseMs: number;
        /**
         * The worker is a runner: after a report that was not accepted it gets nothing, because that would bypass its
         * slots.
         */
        readonly slotted?: boolean | undefined;
        /** The worker's generation: it gets nothing if the lane has a newer one. */
        readonly generation?: number | undefined;
      }
    | undefined;
}

const UNKNOWN: ReportAnswer = {
  accepted: false,
  state: null,
  reason: 'UNKNOWN_ACTION',
  laneId: null,
  repeated: false,
  settled: false,
  next: null,
};

function outcomeOf(status: ReportRequest['status']): ReportItem['outcome'] {
  checkOneOf(status, 'status', ['succeeded', 'failed', 'timedOut', 'notNow', 'unreached']);
  if (status === 'timedOut') return 'timeout';
  return status === 'notNow' ? 'not_now' : status;
}

const REASON = /^[A-Z][A-Z_]{0,39}$/;

function checkReason(reason: string): string {
  if (!REASON.test(reason))
    throw new EngineError('MUSTER_BAD_VALUE', 'reason must be one word of up to 40 capital letters.');
  return reason;
}

function checkNext(next: NonNullable<ReportRequest['next']>) {
  checkName(next.channel, 'channel');
  checkName(next.worker, 'worker', 0);
  checkLease(next.leaseMs);
  ifGiven(next.generation, (generation) => checkWhole(generation, 'generation', 1));
  return next;
}

function itemOf(request: ReportRequest): ReportItem {
  return {
    tenantId: checkTenant(request.tenantId),
    actionId: request.actionId,
    attempt: checkAttempt(request.attempt),
    outcome: outcomeOf(request.status),
    final: request.status === 'failed' && request.final,
    reason: request.status === 'succeeded' ? ifGiven(request.reason, checkReason) : undefined,
    worker: ifGiven(request.worker, (worker) => checkName(worker, 'worker', 0)),
    error: ifGiven(request.error, (error) => checkText(error, 'error')),
    result: ifGiven(request.result, (result) => encodeJson(result, 'result')),
    delayMs: ifGiven(request.retryAfterMs, (ms) => checkWhole(ms, 'retryAfterMs', 0)),
    channel: ifGiven(request.channel, (channel) => checkName(channel, 'channel')),
    laneId: ifGiven(request.laneId, checkLane),
    leasedIn: ifGiven(request.leasedIn, checkLane),
    next: ifGiven(request.next, checkNext),
  };
}

export function createReporting(options: {
  report: (client: Queryable, item: ReportItem) => Promise<ReportAnswer>;
  reportMany: (client: Queryable, items: readonly ReportItem[]) => Promise<ReportAnswer[]>;
  claim: (client: Queryable, item: ClaimItem) => Promise<ClaimAnswer>;
  onLate?: (tenantId: number) => void;
}) {
  /** A report that was not accepted claims in a second step, and never the action it was about. */
  async function claimInstead(
    client: Queryable,
    request: ReportRequest,
    laneId: string,
  ): Promise<ClaimedAction | null> {
    if (!request.next) return null;
    const answer = await options.claim(client, {
      tenantId: request.tenantId,
      laneId,
      ...request.next,
      except: isId(request.actionId) ? request.actionId : undefined,
    });
    return answer.kind === 'claimed' ? answer.action : null;
  }

  return {
    /** Ends the running attempt, once; repeated and late reports change nothing. */
    async report(client: Queryable, request: ReportRequest): Promise<ReportAnswer> {
      const item = itemOf(request);
      const answer = isId(request.actionId) ? await options.report(client, item) : UNKNOWN;
      if (answer.reason === 'LATE') options.onLate?.(request.tenantId);
      const laneId = item.laneId ?? answer.laneId;
      if (!request.next || request.next.slotted || answer.settled || laneId === null) return answer;
      return { ...answer, next: await claimInstead(client, request, laneId) };
    },

    /** Many reports of one caller in one statement, without a next action. */
    async reportMany(
      client: Queryable,
      requests: readonly Omit<ReportRequest, 'next'>[],
    ): Promise<ReportAnswer[]> {
      const items = requests.map(itemOf);
      const answers = await options.reportMany(
        client,
        items.filter(({ actionId }) => isId(actionId)),
      );
      let next = 0;
      return items.map(({ actionId }) => (isId(actionId) ? (answers[next++] as ReportAnswer) : UNKNOWN));
    },

    /**
     * Gives back an attempt that was not begun: no failure is counted, and the action is pending again at once. Every
     * tenth in a row is counted all the same, so that a client that only gives back comes to an end; `uncounted` is for
     * an operator who takes it back.
     */
    async release(
      client: Queryable,
      request: {
        tenantId: number;
        actionId: string;
        attempt: number;
        worker?: string | undefined;
        channel?: string | undefined;
        reason?: string | undefined;
        /** However often. */
        uncounted?: boolean | undefined;
      },
    ): Promise<ReportAnswer> {
      if (!isId(request.actionId)) return UNKNOWN;
      return options.report(client, {
        tenantId: checkTenant(request.tenantId),
        actionId: request.actionId,
        attempt: checkAttempt(request.attempt),
        outcome: request.uncounted ? 'unreached' : 'released',
        worker: ifGiven(request.worker, (worker) => checkName(worker, 'worker', 0)),
        channel: ifGiven(request.channel, (channel) => checkName(channel, 'channel')),
        error: ifGiven(request.reason, (reason) => checkText(reason, 'reason')),
      });
    },
  };
}
