import type { Engine, EventType, Queryable } from '@muster/engine';
import type { EventRow } from './wire.ts';

/** The history of these messages, newest first, with the answer of each delivery. */
export function createCallbackQueries({ schema: s }: Pick<Engine, 'schema'>) {
  return {
    async events(
      client: Queryable,
      tenantId: number,
      actionIds: readonly string[],
    ): Promise<Map<string, EventRow[]>> {
      const { rows } = await client.query({
        text: `select i.action_id, e.type, e.at, e.reason, d.attempt is not null as is_delivery, d.status, d.headers, d.body, d.error
          from unnest((select $2::bigint[])) i(action_id)
          cross join lateral (
            select * from ${s}.action_events e where e.tenant_id = $1 and e.action_id = i.action_id order by e.event_id desc limit 10000
          ) e
          left join lateral (
            select * from ${s}.callback_deliveries d
            where d.tenant_id = $1 and d.action_id = i.action_id and d.attempt = e.attempt limit 1
          ) d on true`,
        values: [tenantId, actionIds],
      });
      const found = new Map<string, EventRow[]>();
      for (const row of rows) {
        const { status, headers, body, error } = row;
        const event: EventRow = {
          type: row.type as EventType,
          at: row.at,
          reason: row.reason,
          delivery: row.is_delivery ? { status, headers, body, error } : null,
        };
        found.set(row.action_id, [...(found.get(row.action_id) ?? []), event]);
      }
      for (const [id, events] of found) {
        neverBack(events);
        // a request aborted by a cancel is not tried again
        const shown = events.filter(
          ({ type }, n) => type !== 'RELEASED' || events[n - 1]?.type !== 'CANCELLED',
        );
        found.set(id, shown);
      }
      return found;
    },
  };
}

/**
 * Newest first. Two nodes, or a node and its database, have different clocks: no event is shown as earlier than the one
 * before it.
 */
function neverBack(events: EventRow[]): void {
  let latest = 0;
  for (const [nth, event] of [...events.entries()].toReversed()) {
    latest = Math.max(latest, event.at.getTime());
    events[nth] = { ...event, at: new Date(latest) };
  }
}
