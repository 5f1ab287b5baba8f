import { EVENT_TYPES } from '../action.ts';
import { byTenant } from '../by-tenant.ts';
import type { Queryable } from '../db.ts';
import type { Context, Run } from '../operation.ts';
import { NOW, rows } from '../sql.ts';
import { encodeJson } from '../text.ts';
import { checkLane, checkName, checkTenant } from '../values.ts';

/** A door's own event for readers of the feed, written in the transaction in which it happened. */
export interface Note {
  readonly tenantId: number;
  /** The lane it is about, if any. */
  readonly laneId?: string | undefined;
  readonly name: string;
  readonly data: unknown;
}

const NOBODYS = '0';

export function createNote(context: Context) {
  const s = context.schema;
  return async (client: Queryable, notes: readonly Note[]): Promise<Run<never>> => {
    for (const some of byTenant(context, notes).filter(({ length }) => length > 0))
      await client.query({
        name: 'muster_note',
        text: `insert into ${s}.events (tenant_id, action_id, lane_id, at, type, attempt, reason, note)
          select i.tenant_id, ${NOBODYS}, i.lane_id, ${NOW}, ${EVENT_TYPES.NOTED}, 0, i.name, i.data
          from ${rows(2, { tenant_id: 'int', lane_id: 'bigint', name: 'text', data: 'jsonb' })}`,
        values: [
          context.now(),
          some.map(({ tenantId }) => checkTenant(tenantId)),
          some.map(({ laneId }) => (laneId === undefined ? NOBODYS : checkLane(laneId))),
          some.map(({ name }) => checkName(name, 'name of the note')),
          some.map(({ data }) => encodeJson(data, 'note')),
        ],
      });
    return { answers: [], transitions: [], wakes: notes.map(({ tenantId }) => ({ tenantId, news: true })) };
  };
}
