import type { Call } from './call-log.ts';
import { type Evidence, groupBy } from './evidence.ts';
import { type Finding, finding } from './finding.ts';
import { eventOf, handedOut, isAccepted } from './told.ts';

/** The answers to workers and operators, compared with the history and with the answers to others. */
export function checkAnswers(evidence: Evidence): Finding[] {
  return [...reports(evidence), ...refusals(evidence), ...handOuts(evidence), ...cancels(evidence)];
}

const attemptOf = (call: Call) => Number(call.body.attempt);

/** Every accepted report ended exactly one attempt, once, and its result stays. */
function reports({ calls, eventsOf, history }: Evidence): Finding[] {
  const accepted = calls.filter((call) => isAccepted(call) && eventOf(call) !== null);
  return [...groupBy(accepted, (call) => `${call.id} ${attemptOf(call)}`).values()].flatMap((same) => {
    const [first] = same as [Call];
    const id = String(first.id);
    const attempt = attemptOf(first);
    const found: Finding[] = [];
    const ends = eventsOf(id).filter((event) => event.attempt === attempt);
    const said = new Set(same.map(eventOf));
    for (const type of said) {
      const count = ends.filter((event) => event.type === type).length;
      if (count > 1)
        found.push(finding('G15', id, `${type} ended attempt ${attempt} of action ${id} ${count} times`));
    }
    // two different reports of one attempt: only a success that came after a release (G18)
    const late = ends.some((event) => event.type === 'SUCCEEDED' && event.reason === 'LATE');
    if (said.size > 1 && !(said.size === 2 && said.has('RELEASED') && said.has('SUCCEEDED') && late))
      found.push(
        finding('G15', id, `attempt ${attempt} of action ${id} was ended by ${[...said].join(' and by ')}`),
      );
    if (said.has('SUCCEEDED') && history.actions.get(id)?.ended !== 'succeeded')
      found.push(finding('G2', id, `the success of action ${id} was accepted, and it is not succeeded`));
    for (const alike of groupBy(same, (call) => String(eventOf(call))).values()) {
      const states = new Set(alike.map((call) => call.answer?.status));
      if (states.size > 1)
        found.push(
          finding('G16', id, `the same report of action ${id} was answered ${[...states].join(' and ')}`),
        );
    }
    return found;
  });
}

/** A refused report is recorded, was not accepted before, and returns nothing of the same action. */
function refusals({ calls, eventsOf }: Evidence): Finding[] {
  const found: Finding[] = [];
  const acceptedAt = new Map<string, number>();
  const word = (call: Call) => `${call.id} ${attemptOf(call)} ${eventOf(call)}`;
  for (const call of calls)
    if (isAccepted(call) && eventOf(call) !== null && call.ended !== null)
      acceptedAt.set(word(call), Math.min(call.ended, acceptedAt.get(word(call)) ?? call.ended));
  for (const call of calls) {
    if (call.status !== 200 || call.answer?.accepted !== false || eventOf(call) === null) continue;
    const id = String(call.id);
    const recorded = eventsOf(id).some(
      (event) => event.type === 'LATE' && event.attempt === attemptOf(call) && event.reason === eventOf(call),
    );
    if (!recorded) found.push(finding('G17', id, `the refused report of call ${call.n} is not on record`));
    if ((acceptedAt.get(word(call)) ?? Number.POSITIVE_INFINITY) < call.begun)
      found.push(
        finding('G16', id, `call ${call.n} was refused, and the same report had been accepted before`),
      );
    if (handedOut(call).some((action) => action.id === id))
      found.push(finding('G19', id, `call ${call.n} was refused and got the same action with it`));
  }
  return found;
}

interface HandOut {
  readonly id: string;
  readonly attempt: number;
  readonly redelivered: boolean;
  readonly call: Call;
}

/** An attempt has one worker, which got it once and may get it again; attempts only grow. */
function handOuts({ calls, asked, eventsOf }: Evidence): Finding[] {
  const all = calls.flatMap((call) => handedOut(call).map((action): HandOut => ({ ...action, call })));
  const found: Finding[] = [];
  for (const { id, attempt, call } of all) {
    const sent = eventsOf(id).find((event) => event.type === 'SENT' && event.attempt === attempt);
    if (sent && sent.worker !== call.client)
      found.push(finding('G11', id, `attempt ${attempt} of ${sent.worker} was handed to ${call.client}`));
    if (asked.get(id) && asked.get(id)?.lane !== call.lane)
      found.push(finding('G35', id, `call ${call.n} got an action of another lane`));
  }
  for (const same of groupBy(all, ({ id, attempt }) => `${id} ${attempt}`).values()) {
    const [{ id, attempt }] = same as [HandOut];
    const first = same.filter(({ redelivered }) => !redelivered).length;
    if (first > 1)
      found.push(finding('G3', id, `attempt ${attempt} of action ${id} was handed out ${first} times`));
    const again = eventsOf(id).filter((event) => event.type === 'REDELIVERED' && event.attempt === attempt);
    if (again.length > 10)
      found.push(finding('G30', id, `attempt ${attempt} was given again ${again.length} times`));
  }
  for (const same of groupBy(all, ({ id }) => id).values()) {
    // the highest attempt that any client knew when a call began
    const byEnd = [...same].sort((a, b) => (a.call.ended ?? 0) - (b.call.ended ?? 0));
    for (const { id, attempt, call } of same) {
      const known = byEnd.filter((one) => (one.call.ended ?? 0) < call.begun).at(-1);
      if (known && known.attempt > attempt)
        found.push(
          finding('G3', id, `attempt ${attempt} of action ${id} was handed out after ${known.attempt}`),
        );
    }
  }
  return found;
}

/** A running action with a requested cancel is never retried. */
function cancels({ calls, eventsOf }: Evidence): Finding[] {
  return calls.flatMap((call): Finding[] => {
    if (call.op !== 'cancel' || call.answer?.outcome !== 'requested') return [];
    const events = eventsOf(String(call.id));
    const asked = events.findIndex((event) => event.type === 'CANCEL_REQUESTED');
    if (asked < 0)
      return [
        finding('G54', call.id, `the cancel of the running action ${call.id} was acknowledged and is lost`),
      ];
    return events.slice(asked).some((event) => event.type === 'SENT')
      ? [finding('G21', call.id, `action ${call.id} was handed out again after its cancel was requested`)]
      : [];
  });
}
