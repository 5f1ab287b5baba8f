import type { Engine, Queryable } from '@muster/engine';
import type { StreamEvent } from '../../events/stream-event.ts';

/** What an event of the feed does not say itself of its action. */
export interface Facts {
  /** Null: the action is not kept any more. */
  readonly createdAt: Date | null;
  /** Of the end that this event is: when its attempt began, and what went wrong. */
  readonly startedAt: Date | null;
  readonly error: string | null;
}

/**
 * Of each event, in their order. Whoever reads the feed late may find that the action was tried again and has ended otherwise: what is
 * told of an end is of that very end or left out, so an event is the same whenever it is read.
 */
export async function factsOf(
  client: Queryable,
  { schema: s }: Pick<Engine, 'schema'>,
  events: readonly Pick<StreamEvent, 'actionId' | 'at' | 'attempt' | 'tenantId'>[],
): Promise<Facts[]> {
  if (events.length === 0) return [];
  const { rows } = await client.query({
    name: 'muster_webhook_facts',
    text: `select a.created_at as "createdAt", case when a.is_it then a.sent_at end as "startedAt", case when a.is_it then a.error end as error
      from unnest((select $1::int[]), (select $2::bigint[]), (select $3::int[]), (select $4::timestamptz[]))
        with ordinality i(tenant_id, action_id, attempt, at, ord)
      left join lateral (
        select a.*, date_trunc('milliseconds', a.ended_at) = i.at and a.attempt = i.attempt as is_it from ${s}.action_states a
        where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1
      ) a on true order by i.ord`,
    values: [
      events.map(({ tenantId }) => tenantId),
      events.map(({ actionId }) => actionId ?? '0'),
      events.map(({ attempt }) => attempt),
      events.map(({ at }) => at),
    ],
  });
  return rows;
}
