import { soughtBy } from '../sql.ts';

/**
 * The actions with a tag, in the order of their ids, by `action_tags`. A second index in the same order may narrow
 * them: both are then walked in turn, each jumping to the other's position, so that a few failures among 200,000 with
 * the tag cost few looks, and so do a few with the tag among 200,000 failures. Only where both alternate is every step
 * one action; `most` limits the steps.
 *
 * `$2` is the tenant. Each row is a step: the next one starts from what it has `reached`, and `action_id` is the action
 * there, or null if only one index has it. Fewer than `most` rows mean that the end was reached.
 */
export interface Steps {
  readonly tag: string;
  readonly beside: Beside | null;
  readonly order: 'newest' | 'oldest';
  /** An id; exclusive. */
  readonly from: string;
  readonly upTo?: string | undefined;
  readonly most: number;
}

/** The other index: its rows are `o`. */
export interface Beside {
  readonly table: string;
  readonly where: string;
}

export function steps(s: string, { beside, from, most, order, tag, upTo }: Steps): string {
  const [before, way, back] = order === 'newest' ? ['<', 'desc', '+ 1'] : ['>', 'asc', '- 1'];
  const tagged = (after: string) => `select t.action_id from ${s}.action_tags t
        where t.tenant_id = $2 and t.tag = ${tag} and t.action_id ${before} ${after}${upTo === undefined ? '' : ` and t.action_id <= ${upTo}::bigint`}
        order by t.action_id ${way}`;
  if (!beside)
    return `(select $2::int as tenant_id, t.action_id as reached, t.action_id from (${tagged(`${from}::bigint`)} limit ${most}) t)`;
  return `(
      with recursive step as (
        select ${from}::bigint as reached, null::bigint as action_id, 0 as nth
        union all
        select case when o.action_id = t.action_id then t.action_id else o.action_id ${back} end, case when o.action_id = t.action_id then t.action_id end, step.nth + 1
        from step
        cross join lateral (${tagged('step.reached')} limit 1) t
        cross join lateral (
          select o.action_id from ${s}.${beside.table} o where o.tenant_id = $2 and ${beside.where} and o.action_id ${before}= t.action_id
          order by o.action_id ${way} limit 1
        ) o
        where step.nth < ${most}
      )
      select $2::int as tenant_id, reached, action_id from step where nth > 0
    )`;
}

interface RestOfFilter {
  readonly laneId?: string | undefined;
  readonly state?: string | undefined;
  readonly endedAfter?: Date | undefined;
  readonly endedBefore?: Date | undefined;
}

/** The index for the rest of a filter; `add` makes a value a parameter. */
export function besideTag(
  s: string,
  { endedAfter, endedBefore, laneId, state }: RestOfFilter,
  add: (value: unknown) => string,
): Beside | null {
  if (laneId !== undefined)
    return { table: 'actions', where: `o.lane_id = ${add(laneId)} and ${soughtBy(s, 'o.lane_id')}` };
  if (state === 'pending' || state === 'unfinished') return { table: 'pending', where: 'true' };
  if (state === 'failed' || state === 'cancelled' || state === 'expired')
    // the second half is the condition of the index
    return { table: 'endings', where: `o.state = '${state}' and o.state <> 'succeeded'` };
  return state || endedAfter || endedBefore ? { table: 'endings', where: 'true' } : null;
}
