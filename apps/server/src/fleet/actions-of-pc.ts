import type { Queryable } from '@muster/engine';
import { unknownPc } from './pcs.ts';

const STATES: Readonly<Record<string, readonly string[]>> = {
  unfinished: ['pending', 'claimed'],
  finished: ['succeeded', 'failed', 'cancelled', 'expired'],
};

/**
 * Actions of these channels for the devices of a PC, newest first. The newest of each lane, and of those the newest: a
 * page costs the same however long the history is.
 */
export function createActionsOfPc(s: string, channels: ReadonlySet<string>) {
  return async (
    client: Queryable,
    tenantId: number,
    pcId: string,
    page: { state: string | undefined; before: string | undefined; limit: number },
  ): Promise<string[]> => {
    const { rows: known } = await client.query({
      text: `select 1 from ${s}.pcs where tenant_id = $1 and pc_id = $2`,
      values: [tenantId, pcId],
    });
    if (known.length === 0) throw unknownPc();
    const { rows } = await client.query({
      text: `select x.action_id from (
          select d.lane_id from ${s}.devices d
          where d.tenant_id = $1 and d.pc_id = $2 and ${s}.sought_by(d.pc_id) and d.deleted_at is null offset 0
        ) d
        cross join lateral (
          select x.action_id from ${s}.action_states x
          where x.tenant_id = $1 and x.lane_id = d.lane_id and ${s}.sought_by(x.lane_id) and x.channel = any($3::text[])
            and ($4::text[] is null or x.state = any($4)) and ($5::bigint is null or x.action_id < $5)
          order by x.action_id desc limit $6
        ) x order by x.action_id desc limit $6`,
      values: [
        tenantId,
        pcId,
        [...channels],
        page.state === undefined ? null : (STATES[page.state] ?? [page.state]),
        page.before ?? null,
        page.limit,
      ],
    });
    return rows.map((row) => row.action_id);
  };
}
