import type { HistoryEvent } from '@muster/engine/testing';
import type { SeenEvent } from './feed-reader.ts';
import { type Finding, finding } from './finding.ts';

/** Written without the lock of the lane: these have no order relative to other events of that moment. */
const NOTES: readonly string[] = ['ACKED', 'LATE'];

/** One cursor over all crashes: every event once, none that does not exist, CREATED first. */
export function checkFeed(seen: readonly SeenEvent[], events: readonly HistoryEvent[]): Finding[] {
  const found: Finding[] = [];
  const shown = new Set<string>();
  const last = new Map<string, bigint>();
  const all = new Set(events.map(({ id }) => String(id)));
  for (const { eventId, actionId: ofAction, type } of seen) {
    const actionId = String(ofAction);
    const say = (what: string) =>
      found.push(finding('G43', actionId, `event ${eventId} (${type} of action ${actionId}) ${what}`));
    if (shown.has(eventId)) say('was shown twice by the feed');
    if (!all.has(eventId)) say('was shown by the feed, and is not in the history');
    const before = last.get(actionId);
    shown.add(eventId);
    if (NOTES.includes(type)) {
      if (before === undefined) say('was shown before the CREATED of its action');
      continue;
    }
    if (before !== undefined && before > BigInt(eventId)) say('was shown after a later event of its action');
    last.set(actionId, BigInt(eventId));
  }
  for (const { id, type, actionId } of events)
    if (!shown.has(String(id)))
      found.push(
        finding('G43', actionId, `event ${id} (${type} of action ${actionId}) was skipped by the feed`),
      );
  return found;
}
