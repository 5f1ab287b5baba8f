import type { Search } from '../../page-address.ts';
import type { FilterKeys } from '../../words/filter-text.ts';

/** What actions can be found by. Those with an index, and some that are looked for among the newest 10,000 of the others. */
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
/** These too, where neither a lane nor a tag says which are meant. */
const BROAD = ['kind', 'channel'];
const BOUNDING = ['lane', 'tag'];
/** What says which are meant: then those that the server queues for itself are not left out. */
const MEANT = [...BOUNDING, ...BROAD];
/** What a change of many can name. */
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
  // as people call it
  return filter.state === 'running' ? { ...filter, state: 'claimed' } : filter;
}

/** In the words of the page. */
export function asSaid(filter: Filter): Filter {
  return filter.state === 'claimed' ? { ...filter, state: 'running' } : filter;
}

const has = (filter: Filter, keys: readonly string[]) => keys.some((key) => filter[key] !== undefined);

/** It is looked for among so many, and the page says so. */
export function isLookedFor(filter: Filter): boolean {
  return has(filter, LOOKED_FOR) || (has(filter, BROAD) && !has(filter, BOUNDING));
}

/** A change of many can say the same. */
export function isMatchable(filter: Filter): boolean {
  return Object.keys(filter).every((key) => key === 'state' || key === 'internal' || MATCHED.includes(key));
}

/** What the server queues for itself is left out, unless it is asked for. */
export function isWithoutInternal(filter: Filter): boolean {
  return filter.internal !== 'true' && !has(filter, MEANT);
}

/** The server searches payloads of a day, unless something else says which are meant. */
export function isTextAlone(filter: Filter): boolean {
  return filter.text !== undefined && !has(filter, [...BOUNDING, 'kind', 'createdAfter']);
}

const MINUTE_MS = 60_000;

/** The filter as a request for a page. */
export function asked(filter: Filter, now: number): Filter {
  // to the minute, so that the pages of one list ask for the same
  const dayAgo = (Math.ceil(now / MINUTE_MS) + 1 - 24 * 60) * MINUTE_MS;
  return {
    ...filter,
    ...(isTextAlone(filter) ? { createdAfter: new Date(dayAgo).toISOString() } : {}),
    internal: isWithoutInternal(filter) ? 'false' : 'true',
  };
}

/** The filter as a request that changes: of the moment the list was read, so that what came later is never touched. */
export function matching(filter: Filter, readAt: number): Record<string, string | boolean> {
  const body = Object.fromEntries(
    MATCHED.flatMap((key) => (filter[key] ? [[key, filter[key] as string]] : [])),
  );
  const moment = new Date(readAt).toISOString();
  const times = filter.state === 'failed' ? { endedBefore: moment } : { createdBefore: moment };
  return { ...times, ...body, ...(isWithoutInternal(filter) ? { internal: false } : {}) };
}
