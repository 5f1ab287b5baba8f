import type { Queryable } from '@muster/engine';
import { type History, type HistoryEvent, readHistory } from '@muster/engine/testing';
import type { Applied } from './application.ts';
import type { Call } from './call-log.ts';
import type { SeenEvent } from './feed-reader.ts';

/** Everything that is compared after a round. */
export interface Evidence {
  readonly history: History;
  readonly eventsOf: (actionId: string) => readonly HistoryEvent[];
  readonly asked: ReadonlyMap<string, Asked>;
  readonly calls: readonly Call[];
  readonly applied: readonly Applied[];
  readonly seen: readonly SeenEvent[];
  /** Servers that ended on their own. */
  readonly faults: readonly string[];
}

/** The requested actions, as in the tables. The mark is the number that a client put into one payload. */
export interface Asked {
  readonly id: string;
  readonly mark: number;
  readonly lane: string;
  readonly supersedeKey: string | null;
}

export async function gatherEvidence(
  db: Queryable,
  tenantId: number,
  told: Pick<Evidence, 'calls' | 'applied' | 'seen' | 'faults'>,
): Promise<Evidence> {
  const history = await readHistory(db, tenantId);
  const byAction = groupBy(history.events, (event) => event.actionId);
  const { rows } = await db.query({
    text: `select a.action_id::text as id, (a.payload->>'mark')::int as mark, n.name as lane, a.supersede_key as "supersedeKey"
      from muster.actions a join muster.lane_names n on n.tenant_id = a.tenant_id and n.lane_id = a.lane_id
      where a.tenant_id = $1`,
    values: [tenantId],
  });
  return {
    ...told,
    history,
    eventsOf: (actionId) => byAction.get(actionId) ?? [],
    asked: new Map((rows as Asked[]).map((row) => [row.id, row])),
  };
}

export function groupBy<T>(list: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
