import { type Database, gather, whileLocked } from '@muster/engine';
import type { ErrorLink } from '@muster/mdm';
import type { PhoneEvent, Publish } from '../events.ts';
import type { createSettle, Said, Settled } from './settle.ts';

/** A report, with what a failure said. */
export interface Reported extends Said {
  readonly errorChain: readonly ErrorLink[];
}

/**
 * Reports of phones that come at the same moment, in one transaction with what is told of them: four round trips for all.
 * Each phone is in a statement once; whoever says two things at once is heard one after the other.
 */
export function gatherSettles(db: Database, settle: ReturnType<typeof createSettle>, publish: Publish) {
  return gather<Reported, Settled>({
    name: 'mdm-settle',
    inFlightAtOnce: db.writers,
    deadlineMs: db.deadlineMs,
    run: (items) =>
      // lanes of the bus may be taken for a moment
      whileLocked(db, async (tx) => {
        const answers: Settled[] = [];
        const events = new Map<number, PhoneEvent[]>();
        for (const round of roundsOf(items)) {
          const settled = await settle(
            tx,
            round.map(({ item }) => item),
          );
          round.forEach(({ item, n }, at) => {
            const one = settled[at] ?? null;
            answers[n] = one;
            const told = one === null ? [] : eventsOf(item, one);
            if (told.length > 0) events.set(item.tenantId, [...(events.get(item.tenantId) ?? []), ...told]);
          });
        }
        for (const [tenantId, told] of events) await publish(tx, tenantId, told);
        return answers;
      }),
  });
}

function roundsOf(items: readonly Reported[]): { item: Reported; n: number }[][] {
  const rounds: { item: Reported; n: number }[][] = [];
  const seen = new Map<string, number>();
  items.forEach((item, n) => {
    const word = `${item.tenantId}:${item.hash}`;
    const round = seen.get(word) ?? 0;
    seen.set(word, round + 1);
    rounds[round] ??= [];
    rounds[round].push({ item, n });
  });
  return rounds;
}

function eventsOf(
  { status, commandUuid, errorChain }: Reported,
  settled: NonNullable<Settled>,
): PhoneEvent[] {
  const { answered, isNews, udid } = settled;
  const events: PhoneEvent[] = [];
  if (answered?.source === 'bus' && commandUuid !== null && status !== 'NotNow')
    events.push(
      status === 'Acknowledged'
        ? { type: 'ACTION_COMPLETED', udid, commandUuid }
        : {
            type: 'ACTION_FAILED',
            udid,
            commandUuid,
            payload: { reason: 'device_error', error_chain: errorChain },
          },
    );
  if (isNews) events.push({ type: 'DEVICE_CONNECTED', udid });
  return events;
}
