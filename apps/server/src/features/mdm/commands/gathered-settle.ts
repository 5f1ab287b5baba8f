import { byTenant, type Database, gather, whileLocked } from '@muster/engine';
import type { ErrorLink } from '@muster/mdm';
import type { PhoneEvent, Publish } from '../events.ts';
import type { Lives } from '../lives.ts';
import type { createSettle, Said, Settled } from './settle.ts';

/** A report, with the reason if it failed. */
export interface Reported extends Said {
  readonly errorChain: readonly ErrorLink[];
}

/**
 * Handles reports of phones that come at the same moment in one transaction with the messages about them: four round
 * trips for all. Each phone is in a statement once; two reports of one phone are handled one after the other.
 */
export function gatherSettles(
  db: Database,
  settle: ReturnType<typeof createSettle>,
  { lives, publish }: { lives: Lives; publish: Publish },
) {
  return gather<Reported, Settled>({
    name: 'mdm-settle',
    inFlightAtOnce: db.writers,
    deadlineMs: db.deadlineMs,
    run: (items) =>
      // lanes of the bus may be locked for a moment
      whileLocked(db, async (tx) => {
        const answers: Settled[] = [];
        const events = new Map<number, PhoneEvent[]>();
        for (const round of roundsOf(items).flatMap((all) => byTenant(db, all))) {
          const settled = await settle(
            tx,
            round.map(({ item }) => item),
          );
          for (const [at, { item, n }] of round.entries()) {
            const one = settled[at] ?? null;
            answers[n] = one;
            if (one === null) continue;
            const told = eventsOf(item, one);
            // the report ends the attempt of a lane, and the phone leaves with it
            if (one.answered?.source !== 'lane' && isLeaving(item, one))
              told.push(...(await lives.leave(tx, item.tenantId, one.udid)));
            if (told.length > 0) events.set(item.tenantId, [...(events.get(item.tenantId) ?? []), ...told]);
          }
        }
        for (const [tenantId, told] of events) await publish(tx, tenantId, told);
        return answers;
      }),
  });
}

/**
 * It has removed the profile of its enrolment: its CheckOut may get lost, and then it could not enrol again. Its report
 * is handled once, so it leaves in the same transaction, or repeats the report.
 */
export const isLeaving = ({ status }: Said, { answered }: NonNullable<Settled>) =>
  answered?.isToLeave === true && status === 'Acknowledged';

interface Turn {
  readonly tenantId: number;
  readonly item: Reported;
  readonly n: number;
}

function roundsOf(items: readonly Reported[]): Turn[][] {
  const rounds: Turn[][] = [];
  const seen = new Map<string, number>();
  items.forEach((item, n) => {
    const word = `${item.tenantId}:${item.hash}`;
    const round = seen.get(word) ?? 0;
    seen.set(word, round + 1);
    rounds[round] ??= [];
    rounds[round].push({ tenantId: item.tenantId, item, n });
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
  // it has left its Setup Assistant, which its TokenUpdate could not say yet
  if (answered?.requestType === 'DeviceConfigured' && answered.source === 'own' && status === 'Acknowledged')
    events.push({ type: 'DEVICE_TOKEN_UPDATE', udid, payload: {} });
  if (isNews) events.push({ type: 'DEVICE_CONNECTED', udid });
  return events;
}
