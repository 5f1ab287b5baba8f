import type { Problem } from '@muster/contracts';
import type { ActionView, Engine, Queryable } from '@muster/engine';
import { groupFailures } from '../../failures/failures.ts';
import { DEVICE_SPACE } from '../../fleet/index.ts';
import type { Naming } from '../../naming/naming.ts';
import type { FindProblems } from '../../problems/problems.ts';

/** Problems the queue itself knows: what failed for good, what is paused, what waits for too long. */
const NEWEST = 200;
const WAITS_TOO_LONG_MS = 3_600_000;

export function engineProblems(engine: Engine, naming: Naming): FindProblems {
  return async (client, tenantId) => [
    ...(await deadLetters(client, tenantId)),
    ...(await oldest(client, tenantId)),
    ...(await pauses(client, tenantId)),
  ];

  async function deadLetters(client: Queryable, tenantId: number): Promise<Problem[]> {
    const counts = await engine.counts(client, tenantId);
    const count = counts.reduce((sum, one) => (one.state === 'failed' ? sum + one.count : sum), 0);
    if (count === 0) return [];
    const { actions } = await engine.list(client, { tenantId, state: 'failed' }, { limit: NEWEST });
    const [largest] = groupFailures(actions, naming);
    if (!largest) return [];
    const { id, lane, space, error } = largest.example;
    return [
      {
        code: 'DEAD_LETTERS',
        count,
        since: largest.firstEndedAt,
        text: `${largest.count} ${largest.name ?? largest.kind}: ${largest.error}`,
        example: {
          type: 'action',
          id,
          name: await nameOf(client, tenantId, { laneName: lane, space }),
          kind: largest.kind,
          ...(error === null ? {} : { error }),
        },
      },
    ];
  }

  async function oldest(client: Queryable, tenantId: number): Promise<Problem[]> {
    const action = await engine.oldestUnfinished(client, tenantId);
    if (!action || engine.now().getTime() - action.createdAt.getTime() < WAITS_TOO_LONG_MS) return [];
    const name = await nameOf(client, tenantId, action);
    const why = await whyOf(client, tenantId, action);
    return [
      {
        code: 'OLDEST_WAITING',
        count: 1,
        since: action.createdAt.toISOString(),
        text: `${naming.nameOf(action) ?? action.kind} ${action.space === DEVICE_SPACE ? 'on' : 'in'} ${name}: ${why}`,
        example: { type: 'action', id: action.id, name, kind: action.kind },
      },
    ];
  }

  /** Why the action before it waits, which is why both wait. */
  async function whyOf(client: Queryable, tenantId: number, { waitingFor }: ActionView): Promise<string> {
    const aheadId = waitingFor?.code === 'BEHIND' ? waitingFor.actionId : undefined;
    const ahead = aheadId === undefined ? null : await engine.get(client, tenantId, aheadId);
    if (!ahead?.waitingFor) return waitingFor?.text ?? '';
    return `${waitingFor?.text} ${naming.nameOf(ahead) ?? ahead.kind} ${ahead.id}: ${ahead.waitingFor.text}`;
  }

  async function pauses(client: Queryable, tenantId: number): Promise<Problem[]> {
    const all = await engine.listPauses(client, tenantId);
    const [everything, tags] = [all.filter(({ tag }) => tag === null), all.filter(({ tag }) => tag !== null)];
    const problems: Problem[] = [];
    for (const [code, found] of [
      ['ALL_PAUSED', everything],
      ['TAGS_PAUSED', tags],
    ] as const) {
      const [first] = found.toSorted((a, b) => a.pausedAt.getTime() - b.pausedAt.getTime());
      if (!first) continue;
      const by = first.pausedBy === null ? '' : ` by ${first.pausedBy}`;
      problems.push({
        code,
        count: found.length,
        since: first.pausedAt.toISOString(),
        text: `${first.tag === null ? 'Everything' : `Tag ${first.tag}`} paused${by}`,
        example: first.tag === null ? null : { type: 'tag', id: first.tag },
      });
    }
    return problems;
  }

  /** As people know it: a target by its name, any other lane by its own. */
  async function nameOf(
    client: Queryable,
    tenantId: number,
    { laneName, space }: Pick<ActionView, 'laneName' | 'space'>,
  ): Promise<string> {
    const held = { channel: '', laneName, space, worker: null };
    const [names] = await naming.targetNamesOf(client, tenantId, [held]);
    return names?.targetName ?? (space === 'generic' ? `${laneName}` : `${space} ${laneName}`);
  }
}
