/** Why has this not run yet? The first match in a fixed order. Doors add reasons of their own at four places in it. */
export interface WaitingFor {
  readonly code: string;
  readonly text: string;
  readonly until?: Date;
  readonly actionId?: string;
  /** The facts of the text, for callers that write their own sentence. */
  readonly since?: Date;
  /** The worker that has it, or the operator who paused it. */
  readonly by?: string;
  readonly tag?: string;
  /** The number of the attempt or retry, and of how many. */
  readonly attempt?: number;
  readonly of?: number;
  readonly running?: number;
  readonly slots?: number;
}

/**
 * Where a door's reason stands: `held` after a paused or blocked lane, `unreachable` before NotNow, because a worker
 * that said NotNow only returns if it can be called, `push` after it, `offline` right before the last one, the next
 * contact.
 */
export type ReasonPlace = 'held' | 'unreachable' | 'push' | 'offline';
export interface DoorReason extends WaitingFor {
  readonly place: ReasonPlace;
}

/** What is known of an unfinished action when the question is asked. */
export interface WaitingFacts {
  readonly tenantPaused: boolean;
  readonly pausedTag: string | null;
  /** Of the tenant or the tag; null if not looked up. */
  readonly pausedAt?: Date | null;
  readonly pausedBy?: string | null;
  /** `by` is null if unknown. */
  readonly lanePaused: { readonly at: Date; readonly by: string | null } | null;
  readonly blocked: string | null;
  readonly notBefore: Date | null;
  readonly failures: number;
  readonly deferrals: number;
  readonly maxAttempts: number;
  readonly attempt?: number;
  readonly aheadId: string | null;
  /** What goes first on another channel. */
  readonly urgent: { readonly id: string; readonly channel: string; readonly until: Date } | null;
  readonly slots: number | null;
  readonly running: number | null;
  readonly leasedAt: Date | null;
  readonly leaseUntil: Date | null;
  readonly worker: string | null;
  readonly cancelRequested: boolean;
  readonly now: Date;
}

export function waitingFor(facts: WaitingFacts, door?: DoorReason): WaitingFor {
  if (facts.leasedAt) return running(facts);
  return (
    paused(facts) ??
    at(door, 'held') ??
    clock(facts) ??
    queue(facts) ??
    at(door, 'unreachable') ??
    notNow(facts) ??
    at(door, 'push') ??
    at(door, 'offline') ??
    NEXT_CONTACT
  );
}

/** The same for an action whose own reason is already known: the door's reason replaces it if it stands before it. */
export function withDoor(own: WaitingFor, door: DoorReason | undefined): WaitingFor {
  if (!door || PAUSED.has(own.code)) return own;
  const { place, ...reason } = door;
  return place === 'held' || own.code === NEXT_CONTACT.code ? reason : own;
}

const PAUSED = new Set(['LANE_PAUSED', 'TENANT_PAUSED', 'TAG_PAUSED', 'LANE_BLOCKED']);
const NEXT_CONTACT: WaitingFor = {
  code: 'NEXT_CONTACT',
  text: 'Waiting for the next contact of its worker.',
};

function running(facts: WaitingFacts): WaitingFor {
  const until = {
    ...(facts.leaseUntil ? { until: facts.leaseUntil } : {}),
    ...(facts.leasedAt ? { since: facts.leasedAt } : {}),
    ...(facts.worker === null ? {} : { by: facts.worker }),
    ...(facts.attempt === undefined ? {} : { attempt: facts.attempt, of: facts.maxAttempts }),
  };
  if (facts.cancelRequested)
    return {
      code: 'CANCEL_REQUESTED',
      text: `Cancel was requested; ${facts.worker ?? 'the worker'} has not answered yet.`,
      ...until,
    };
  return {
    code: 'RUNNING',
    text: `Running on ${facts.worker ?? 'a worker'} since ${facts.leasedAt?.toISOString()}.`,
    ...until,
  };
}

function paused(facts: WaitingFacts): WaitingFor | null {
  if (facts.lanePaused) {
    const { at: pausedAt, by } = facts.lanePaused;
    return { code: 'LANE_PAUSED', text: 'The lane is paused.', ...sinceAndBy(pausedAt, by) };
  }
  if (facts.tenantPaused) return { code: 'TENANT_PAUSED', text: 'Everything is paused.', ...pausedBy(facts) };
  if (facts.pausedTag !== null)
    return {
      code: 'TAG_PAUSED',
      text: `The tag ${facts.pausedTag} is paused.`,
      tag: facts.pausedTag,
      ...pausedBy(facts),
    };
  if (facts.blocked !== null) return { code: 'LANE_BLOCKED', text: `The lane is blocked: ${facts.blocked}` };
  return null;
}

function pausedBy({ pausedAt, pausedBy: by }: WaitingFacts) {
  return sinceAndBy(pausedAt, by);
}

function sinceAndBy(pausedAt: Date | null | undefined, by: string | null | undefined) {
  return { ...(pausedAt ? { since: pausedAt } : {}), ...(by ? { by } : {}) };
}

function clock(facts: WaitingFacts): WaitingFor | null {
  if (!facts.notBefore || facts.notBefore <= facts.now) return null;
  const until = facts.notBefore;
  if (facts.failures > 0)
    return {
      code: 'RETRY',
      text: `Retry ${facts.failures} of ${facts.maxAttempts - 1} at ${until.toISOString()}.`,
      until,
      attempt: facts.failures,
      of: facts.maxAttempts - 1,
    };
  if (facts.deferrals > 0)
    return {
      code: 'NOT_NOW',
      text: `The worker said "not now" ${times(facts.deferrals)}; next try at ${until.toISOString()}.`,
      until,
    };
  return { code: 'NOT_BEFORE', text: `Not before ${until.toISOString()}.`, until };
}

/** Also for what a door has not queued yet, from a row of `urgent_elsewhere`. */
export function behindUrgent(urgent: NonNullable<WaitingFacts['urgent']>): WaitingFor {
  return {
    code: 'BEHIND_URGENT',
    text: `Urgent action ${urgent.id} goes first: its worker was seen on the channel ${urgent.channel}.`,
    until: urgent.until,
    actionId: urgent.id,
  };
}

function queue(facts: WaitingFacts): WaitingFor | null {
  if (facts.aheadId !== null)
    return { code: 'BEHIND', text: `Behind action ${facts.aheadId}.`, actionId: facts.aheadId };
  if (facts.urgent !== null) return behindUrgent(facts.urgent);
  if (facts.slots !== null && facts.running !== null && facts.running >= facts.slots)
    return {
      code: 'NO_FREE_SLOT',
      text: `No free slot: ${facts.running} of ${facts.slots} are in use.`,
      running: facts.running,
      slots: facts.slots,
    };
  return null;
}

function notNow(facts: WaitingFacts): WaitingFor | null {
  if (facts.deferrals === 0) return null;
  return {
    code: 'NOT_NOW',
    text: `The worker said "not now" or released it ${times(facts.deferrals)}; waiting for its next contact.`,
  };
}

function at(door: DoorReason | undefined, place: ReasonPlace): WaitingFor | null {
  if (door?.place !== place) return null;
  const { place: _place, ...reason } = door;
  return reason;
}

function times(n: number): string {
  return n === 1 ? 'once' : `${n} times`;
}
