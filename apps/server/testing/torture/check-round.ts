import { checkInstallation, type Database } from '@muster/engine';
import type { HistoryEvent } from '@muster/engine/testing';
import { checkAnswers } from './check-answers.ts';
import { checkEnqueues } from './check-enqueues.ts';
import { checkFeed } from './check-feed.ts';
import { checkTold } from './check-told.ts';
import type { Evidence } from './evidence.ts';
import { type Finding, finding } from './finding.ts';

/** The promises that a round broke, each with the history of an action that shows it. */
export async function checkRound(db: Database, evidence: Evidence): Promise<Finding[]> {
  const found: Finding[] = [
    ...evidence.faults.map((text) => finding('G36', null, text)),
    ...checkTold(evidence),
    ...checkEnqueues(evidence),
    ...checkAnswers(evidence),
    ...checkFeed(evidence.seen, evidence.history.events),
  ];
  // `muster check` reads the same tables in another way, and must find neither more nor less
  await checkInstallation(db, { onViolation: (violation) => found.push(violation) });
  const once = new Map(found.map((one) => [`${one.promise} ${one.text}`, one]));
  return [...once.values()].map(({ promise, actionId, text }) => ({
    promise,
    actionId,
    text,
    history: actionId === null ? [] : evidence.eventsOf(actionId).map(line),
  }));
}

function line(event: HistoryEvent): string {
  const by = event.worker === null ? '' : ` by ${event.worker}`;
  const why = event.reason === null ? '' : ` (${event.reason})`;
  return `${event.id} ${event.at.toISOString()} ${event.type} attempt ${event.attempt}${by}${why}`;
}
