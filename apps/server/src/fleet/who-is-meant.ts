import type { Targets } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import { deviceError } from './errors.ts';

/**
 * The devices selected by "all" and by tags, for every door that freezes targets: devices that are not deleted and, for
 * tags, have all of them. Both arguments are SQL expressions: a boolean, and a text[] that is null without tags.
 */
export const isMeant = (d: string, said: { all: string; tags: string }) =>
  `(${d}.deleted_at is null and (${said.all} or ${d}.tags @> ${said.tags}))`;

/** How many devices are selected now. */
export async function countMeant(
  client: Queryable,
  s: string,
  tenantId: number,
  meant: Targets,
): Promise<number> {
  const { rows } = await client.query({
    name: 'muster_count_meant',
    text: `select count(*)::int as count from ${s}.devices d where d.tenant_id = $1
      and (${isMeant('d', { all: '$2::boolean', tags: '$3::text[]' })} or (d.deleted_at is null and d.device_id::text = any($4::text[])))`,
    values: [
      tenantId,
      'all' in meant,
      'tags' in meant ? meant.tags : null,
      'deviceIds' in meant ? meant.deviceIds : null,
    ],
  });
  return rows[0].count;
}

/** Bounds the error for a list of wrong ids. */
const MOST_NAMED = 20;

/** "There is no PC with this id: 7.", "There are no PCs with these ids: 7, 8 and 3 more." */
export function noSuch(noun: string, ids: readonly string[], count = ids.length): string {
  if (count === 1) return `There is no ${noun} with this id: ${ids[0]}.`;
  const named = ids.slice(0, MOST_NAMED).join(', ');
  const more = count > MOST_NAMED ? ` and ${count - MOST_NAMED} more` : '';
  return `There are no ${noun}s with these ids: ${named}${more}.`;
}

export function createRefuseUnknown(s: string) {
  /**
   * Unknown ids in a list are refused at once, instead of being noticed when nothing happens. A deleted device counts
   * as unknown.
   */
  return async (client: Queryable, tenantId: number, deviceIds: readonly string[]): Promise<void> => {
    const { rows } = await client.query({
      name: 'muster_unknown_devices',
      text: `select left(i.id, 40) as id, count(*) over ()::int as n
        from (select u.id, min(u.ord) as ord from unnest((select $2::text[])) with ordinality u(id, ord) group by u.id) i
        left join lateral (
          select true as is_there from ${s}.devices d where d.tenant_id = $1 and d.deleted_at is null
            and d.device_id = case when i.id ~ '^[1-9][0-9]{0,17}$' then i.id::bigint end limit 1
        ) d on true
        where d.is_there is null order by i.ord limit ${MOST_NAMED}`,
      values: [tenantId, deviceIds],
    });
    if (rows.length === 0) return;
    throw deviceError(
      'MUSTER_UNKNOWN_DEVICE',
      noSuch(
        'device',
        rows.map((row) => row.id),
        rows[0].n,
      ),
    );
  };
}
