import { type ActionState, FINAL_STATES } from '../action.ts';
import { EngineError } from '../errors.ts';
import type { Context } from '../operation.ts';
import { hasText, soughtText } from '../payload-text.ts';
import { soughtBy } from '../sql.ts';
import { checkName, checkOneOf, checkTenant, checkTime, isId } from '../values.ts';

const STATES = ['pending', 'claimed', 'unfinished', 'finished', ...FINAL_STATES];

/** Which actions match. */
export interface ActionFilter {
  readonly tenantId: number;
  readonly ids?: readonly string[] | undefined;
  readonly laneId?: string | undefined;
  readonly channel?: string | undefined;
  /** Not on any of these. */
  readonly exceptChannels?: readonly string[] | undefined;
  readonly kind?: string | undefined;
  readonly tag?: string | undefined;
  /** `unfinished` is pending or claimed; `finished` is ended in any way. */
  readonly state?: ActionState | 'unfinished' | 'finished' | undefined;
  /** Only pending actions that wait for their time or for a retry. */
  readonly waitsForTime?: boolean | undefined;
  readonly createdBefore?: Date | undefined;
  readonly createdAfter?: Date | undefined;
  readonly endedBefore?: Date | undefined;
  readonly endedAfter?: Date | undefined;
  readonly createdBy?: string | undefined;
  /** Part of the result or error of an ended action; case is ignored. */
  readonly error?: string | undefined;
  /** Part of the payload, ignoring case (`payload-text.ts`). */
  readonly payloadText?: string | undefined;
}

/** No index helps with these: a page scans the remaining actions for them, up to a limit. */
const UNINDEXED = ['createdBy', 'endedAfter', 'endedBefore', 'error', 'payloadText'] as const;
/**
 * No index helps with these either, and most actions match: they are scanned for unless another filter narrows the
 * list.
 */
const BROAD = ['channel', 'exceptChannels', 'kind'] as const;
const BOUNDING = ['ids', 'laneId', 'tag'] as const;
export type Driver = 'actions' | 'pending' | 'unfinished' | 'lanes' | 'endings';

/** Each state is read from the table that holds it, so a page of ten dead letters does not walk a million successes. */
export function driverOf(filter: ActionFilter): Driver {
  if (filter.state === 'pending') return 'pending';
  if (filter.state === 'unfinished') return 'unfinished';
  if (filter.state === 'claimed') return 'lanes';
  if (filter.state !== undefined || filter.endedAfter || filter.endedBefore) return 'endings';
  return 'actions';
}

/** The filters that are scanned for among the rest. */
function lookedFor(filter: ActionFilter): readonly (keyof ActionFilter)[] {
  const isBounded = BOUNDING.some((name) => filter[name] !== undefined);
  return isBounded ? UNINDEXED : [...UNINDEXED, ...BROAD];
}

export const isLookedFor = (filter: ActionFilter) =>
  lookedFor(filter).some((name) => filter[name] !== undefined);

/** An invalid id names no lane. */
export const laneIdOf = ({ laneId }: ActionFilter) => (laneId === undefined || isId(laneId) ? laneId : '0');

/** Claimed actions are found through the lanes that hold them: the lane itself or, for a pool, those of its workers. */
const ofLaneOrPool = (s: string, driver: Driver, lane: string) =>
  driver === 'lanes'
    ? `a.lane_id = ${lane} and l.lane_id = any(array(
        select ${lane}::bigint union all select w.lane_id from ${s}.lanes w
        where w.tenant_id = $2 and w.pool_id = ${lane} and ${soughtBy(s, 'w.pool_id')}))`
    : `a.lane_id = ${lane} and ${soughtBy(s, 'a.lane_id')}`;

/** Conditions that use an index or soon match, and those that are `sought` by scanning what the others leave. */
export function filtered(
  context: Context,
  filter: ActionFilter,
  cursor?: string,
  looked: readonly (keyof ActionFilter)[] = lookedFor(filter),
): { others: string[]; sought: string[]; values: unknown[] } {
  const values: unknown[] = [context.now(), checkTenant(filter.tenantId)];
  const others: string[] = [];
  const sought: string[] = [];
  const add = (sql: (n: string) => string, value: unknown, name?: keyof ActionFilter) => {
    values.push(value);
    (name && looked.includes(name) ? sought : others).push(sql(`$${values.length}`));
  };
  if (filter.ids) add((n) => `a.action_id = any(${n}::bigint[])`, filter.ids.filter(isId));
  if (filter.laneId !== undefined)
    add((n) => ofLaneOrPool(context.schema, driverOf(filter), n), laneIdOf(filter));
  if (filter.channel !== undefined)
    add((n) => `a.channel = ${n}`, checkName(filter.channel, 'channel', 0), 'channel');
  if (filter.exceptChannels?.length)
    add((n) => `a.channel <> all(${n}::text[])`, filter.exceptChannels, 'exceptChannels');
  if (filter.kind !== undefined) add((n) => `a.kind = ${n}`, checkName(filter.kind, 'kind', 0), 'kind');
  if (filter.tag !== undefined) add((n) => `${n} = any(a.tags)`, checkName(filter.tag, 'tag', 0));
  if (filter.state !== undefined) checkOneOf(filter.state, 'state', STATES);
  if (filter.state && FINAL_STATES.includes(filter.state as never))
    add((n) => `z.state = ${n}`, filter.state);
  if (filter.waitsForTime) others.push('p.not_before is not null');
  if (filter.createdBefore)
    add((n) => `a.created_at < ${n}`, checkTime(filter.createdBefore, 'createdBefore'), 'createdBefore');
  if (filter.createdAfter)
    add((n) => `a.created_at >= ${n}`, checkTime(filter.createdAfter, 'createdAfter'), 'createdAfter');
  if (filter.endedBefore)
    add((n) => `z.ended_at < ${n}`, checkTime(filter.endedBefore, 'endedBefore'), 'endedBefore');
  if (filter.endedAfter)
    add((n) => `z.ended_at >= ${n}`, checkTime(filter.endedAfter, 'endedAfter'), 'endedAfter');
  if (filter.createdBy !== undefined) add((n) => `a.created_by = ${n}`, filter.createdBy, 'createdBy');
  if (filter.error !== undefined) add((n) => within('z.error', n), filter.error, 'error');
  if (filter.payloadText !== undefined)
    add((n) => hasText('a.payload', n), soughtText(filter.payloadText), 'payloadText');
  if (cursor !== undefined) {
    add((n) => `a.action_id < ${n}`, checkCursor(cursor));
  }
  return { others, sought, values };
}

export function checkCursor(cursor: string): string {
  if (!isId(cursor)) throw new EngineError('MUSTER_BAD_VALUE', 'This is not a cursor of this list.');
  return cursor;
}

/** Filters for which a count may have to scan all other actions. */
export const COUNTED_ONE_BY_ONE = [...UNINDEXED, ...BROAD, 'createdAfter', 'createdBefore'] as const;

const within = (text: string, part: string) => `position(lower(${part}::text) in lower(${text})) > 0`;
