import type { Search } from '../../page-address.ts';
import type { FilterKeys } from '../../words/filter-text.ts';

/** The filters of actions: those with an index, and some that search only the newest 10,000 that match the others. */
export const ACTION_FILTERS: FilterKeys = {
  state: [
    'pending',
    'claimed',
    'running',
    'succeeded',
    'failed',
    'cancelled',
    'expired',
    'unfinished',
    'finished',
  ],
  kind: [],
  tag: [],
  lane: [],
  space: [],
  channel: [],
  source: [],
  error: [],
  text: [],
  createdAfter: [],
  createdBefore: [],
  endedAfter: [],
  endedBefore: [],
  internal: ['true'],
};
const LOOKED_FOR = ['source', 'error', 'text', 'endedAfter', 'endedBefore'];
/** These search too, unless a lane or tag is given. */
const BROAD = ['kind', 'channel'];
const BOUNDING = ['lane', 'tag'];
/** With one of these, the server's own actions are included. */
const MEANT = [...BOUNDING, ...BROAD];
/** The filters that a change of many accepts. */
const MATCHED = [
  'kind',
  'tag',
  'lane',
  'space',
  'channel',
  'createdAfter',
  'createdBefore',
  'endedAfter',
  'endedBefore',
];

export type Filter = Partial<Record<string, string>>;

export function filterOf(search: Search): Filter {
  const filter: Filter = Object.fromEntries(
    Object.keys(ACTION_FILTERS).flatMap((key) => (search[key] ? [[key, search[key] as string]] : [])),
  );
  // the name on the page
  return filter.state === 'running' ? { ...filter, state: 'claimed' } : filter;
}

/** In the words of the page. */
export function asSaid(filter: Filter): Filter {
  return filter.state === 'claimed' ? { ...filter, state: 'running' } : filter;
}

const has = (filter: Filter, keys: readonly string[]) => keys.some((key) => filter[key] !== undefined);

/** The filter searches a limited number of actions, and the page says so. */
export function isLookedFor(filter: Filter): boolean {
  return has(filter, LOOKED_FOR) || (has(filter, BROAD) && !has(filter, BOUNDING));
}

/** A change of many accepts the same filter. */
export function isMatchable(filter: Filter): boolean {
  return Object.keys(filter).every((key) => key === 'state' || key === 'internal' || MATCHED.includes(key));
}

/** The server's own actions are left out unless the filter includes them. */
export function isWithoutInternal(filter: Filter): boolean {
  return filter.internal !== 'true' && !has(filter, MEANT);
}

/** The server searches the payloads of one day, unless another filter narrows the list. */
export function isTextAlone(filter: Filter): boolean {
  return filter.text !== undefined && !has(filter, [...BOUNDING, 'kind', 'createdAfter']);
}

const MINUTE_MS = 60_000;

/** The filter as a request for a page. */
export function asked(filter: Filter, now: number): Filter {
  // rounded to the minute, so that all pages of a list send the same request
  const dayAgo = (Math.ceil(now / MINUTE_MS) + 1 - 24 * 60) * MINUTE_MS;
  return {
    ...filter,
    ...(isTextAlone(filter) ? { createdAfter: new Date(dayAgo).toISOString() } : {}),
    internal: isWithoutInternal(filter) ? 'false' : 'true',
  };
}

/** The filter as a request that changes, limited to actions that existed when the list was read. */
export function matching(filter: Filter, readAt: number): Record<string, string | boolean> {
  const body = Object.fromEntries(
    MATCHED.flatMap((key) => (filter[key] ? [[key, filter[key] as string]] : [])),
  );
  const moment = new Date(readAt).toISOString();
  const times = filter.state === 'failed' ? { endedBefore: moment } : { createdBefore: moment };
  return { ...times, ...body, ...(isWithoutInternal(filter) ? { internal: false } : {}) };
}
