import type { WaitingGroup, WaitingLanes } from '@muster/contracts';
import type { ActionView, Engine } from '@muster/engine';
import type { Naming } from '../../naming/naming.ts';

/** Why lanes wait, by reason, from a bounded number of lanes that were each asked. */
export async function waitingLanes(engine: Engine, naming: Naming, tenantId: number): Promise<WaitingLanes> {
  const at = engine.now().toISOString();
  const { heads, of } = await engine.waitingLanes(engine.db, tenantId);
  const groups = new Map<string, ActionView[]>();
  for (const head of heads) {
    if (!head.waitingFor) continue; // it has just ended
    const same = groups.get(head.waitingFor.code);
    if (same) same.push(head);
    else groups.set(head.waitingFor.code, [head]);
  }
  return {
    groups: [...groups.values()].map((same) => groupOf(same, naming)).toSorted((a, b) => b.count - a.count),
    sampled: heads.length,
    of,
    at,
  };
}

function groupOf(heads: readonly ActionView[], naming: Naming): WaitingGroup {
  const oldest = heads.reduce((a, b) => (b.createdAt <= a.createdAt ? b : a));
  const { code, text } = oldest.waitingFor as NonNullable<ActionView['waitingFor']>;
  return {
    code: code as WaitingGroup['code'], // doors use the codes of the contracts, checked by a test
    count: heads.length,
    oldestAt: oldest.createdAt.toISOString(),
    example: {
      ...{ actionId: oldest.id, kind: oldest.kind, name: naming.nameOf(oldest) },
      ...{ space: oldest.space, lane: oldest.laneName, text },
    },
  };
}
