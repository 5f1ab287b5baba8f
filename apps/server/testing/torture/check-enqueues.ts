import type { Call } from './call-log.ts';
import { type Asked, type Evidence, groupBy } from './evidence.ts';
import { type Finding, finding } from './finding.ts';

/** No action is invented or created twice, every caller gets its own action, and superseded ones are gone. */
export function checkEnqueues(evidence: Evidence): Finding[] {
  return [...creations(evidence), ...answers(evidence), ...superseding(evidence)];
}

const markOf = (call: Call) => (call.body.payload as { mark: number }).mark;

function creations({ asked, calls, applied }: Evidence): Finding[] {
  const found: Finding[] = [];
  const lanes = new Map<number, string>();
  const keyed = new Set<number>();
  for (const call of calls)
    if (call.op === 'enqueue') {
      lanes.set(markOf(call), call.lane);
      if (call.key !== null) keyed.add(markOf(call));
    }
  const rolledBack = new Set<number>();
  for (const one of applied) {
    lanes.set(one.mark, one.lane);
    if (one.outcome === 'rolled back') rolledBack.add(one.mark);
  }
  for (const [mark, same] of groupBy(asked.values(), (one) => String(one.mark))) {
    const { id, lane } = same[0] as Asked;
    const number = Number(mark);
    if (lanes.get(number) !== lane)
      found.push(finding('G35', id, `no client asked for action ${id} in ${lane}`));
    if (rolledBack.has(number))
      found.push(finding('G48', id, `action ${id} is there, and its transaction was rolled back`));
    if (same.length > 1)
      found.push(
        finding(
          keyed.has(number) ? 'G25' : 'G35',
          id,
          `one call made ${same.length} actions: ${same.map((one) => one.id).join(', ')}`,
        ),
      );
  }
  return found;
}

function answers({ asked, calls }: Evidence): Finding[] {
  const found: Finding[] = [];
  const byKey = new Map<string, string>();
  for (const call of calls) {
    if (call.op !== 'enqueue' || (call.status !== 200 && call.status !== 201)) continue;
    const id = String(call.answer?.id);
    const action = asked.get(id);
    if (!action) continue; // lost, and told as that
    const own = call.status === 201 || call.key !== null;
    if (own && (action.mark !== markOf(call) || action.lane !== call.lane))
      found.push(finding('G35', id, `call ${call.n} was told of action ${id}, which is not its own`));
    const wanted = (call.body.supersede as { key: string } | undefined)?.key;
    if (!own && (action.supersedeKey !== wanted || action.lane !== call.lane))
      found.push(finding('G26', id, `call ${call.n} was told that action ${id} is kept in place of its own`));
    const before = byKey.get(call.key ?? '');
    if (call.key !== null && before !== undefined && before !== id)
      found.push(finding('G25', id, `"${call.key}" named action ${before} first and action ${id} later`));
    if (call.key !== null) byKey.set(call.key, id);
  }
  return found;
}

/** One acknowledged before another of the same key was sent has been handed out or is gone before that one comes. */
function superseding({ asked, calls, eventsOf }: Evidence): Finding[] {
  const made = calls.filter((call) => call.op === 'enqueue' && call.status === 201 && call.body.supersede);
  const lines = groupBy(made, (call) => `${call.lane} ${(call.body.supersede as { key: string }).key}`);
  return [...lines.values()].flatMap((line) => {
    const placed = line.flatMap((call) => {
      const id = String(call.answer?.id);
      const events = eventsOf(id);
      const left = events.find(({ type }) => ['SENT', 'SUPERSEDED', 'CANCELLED'].includes(type))?.id;
      const [created] = events;
      return asked.has(id) && created ? [{ call, id, created: created.id, left }] : [];
    });
    return placed.flatMap((later) =>
      placed
        .filter((one) => (one.call.ended ?? Number.POSITIVE_INFINITY) < later.call.begun)
        .filter(({ left }) => left === undefined || left > later.created)
        .map(({ id }) =>
          finding(
            'G26',
            id,
            `action ${id} was still in its line when action ${later.id} of the same key came`,
          ),
        ),
    );
  });
}
