import type { Call } from './call-log.ts';

/** What an answer says, in the words of the history. */
export function handedOut(call: Call): { id: string; attempt: number; until: Date; redelivered: boolean }[] {
  if (call.status !== 200 || (call.op !== 'claim' && call.op !== 'report')) return [];
  const actions = (call.answer?.actions ?? []) as {
    id: string;
    attempt: number;
    leaseUntil: string;
    redelivered?: boolean;
  }[];
  return actions.map(({ id, attempt, leaseUntil, redelivered = false }) => ({
    id,
    attempt,
    until: new Date(leaseUntil),
    redelivered,
  }));
}

export function isAccepted(call: Call): boolean {
  return call.status === 200 && call.answer?.accepted === true;
}

const EVENT_OF: Record<string, string> = { succeeded: 'SUCCEEDED', failed: 'FAILED', notNow: 'NOT_NOW' };

/** The event that an accepted report or release leaves. */
export function eventOf(call: Call): string | null {
  if (call.op === 'release') return 'RELEASED';
  return call.op === 'report' ? (EVENT_OF[String(call.body.status)] ?? null) : null;
}
