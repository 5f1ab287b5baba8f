import { type CallLog, checkHistory, createCallLog } from '@muster/engine/testing';
import type { Evidence } from './evidence.ts';
import { type Finding, finding } from './finding.ts';
import { eventOf, handedOut, isAccepted } from './told.ts';

/** The engine's own checker over history and tables, with the answers to callers; and nothing may be left unfinished. */
export function checkTold(evidence: Evidence): Finding[] {
  return [...checkHistory(evidence.history, toldLog(evidence)), ...unfinished(evidence)];
}

/** The answers to callers, in the form of the engine's checker. */
function toldLog({ calls, applied }: Evidence): CallLog {
  const log = createCallLog();
  // the first try of a key may have created it; only an answer proves that a caller knows
  const firstTry = new Map<string, number>();
  const known = new Set<string>();
  for (const call of calls) {
    const begun = firstTry.get(call.key ?? '') ?? call.begun;
    if (call.key !== null) firstTry.set(call.key, begun);
    if (call.status === null || call.ended === null) continue;
    const id = String(call.op === 'enqueue' ? call.answer?.id : call.id);
    const isNew = call.status === 201 || (call.status === 200 && call.key !== null);
    if (call.op === 'enqueue' && isNew && !known.has(id)) {
      known.add(id);
      log.enqueued.push({ id, begun, answered: call.ended, ended: call.ended });
    }
    for (const action of handedOut(call)) log.claimed.push({ ...action, begun: call.begun });
    if (isAccepted(call)) {
      const attempt = Number(call.body.attempt);
      const event = eventOf(call);
      if (event) log.reported.push({ id, attempt, event });
      if (call.op === 'extend')
        log.extended.push({ id, attempt, until: new Date(String(call.answer?.leaseUntil)) });
    }
    if (call.op === 'cancel' && call.answer?.outcome === 'cancelled') log.cancelled.push({ id });
  }
  for (const { id, begun, ended, outcome } of applied)
    if (outcome === 'committed') log.enqueued.push({ id, begun, answered: ended, ended });
  return log;
}

/** Without disturbances, and after every lane was asked again and again: what is left now is stuck. */
function unfinished({ history }: Evidence): Finding[] {
  return [...history.actions.values()]
    .filter((action) => action.ended === null)
    .map(({ id }) => finding('G54', id, `action ${id} was never finished, although its lane was worked off`));
}
