import type { Search } from '../../page-address.ts';
import type { FilterKeys } from '../../words/filter-text.ts';

/** What actions can be found by. Those with an index, and three that are looked for among the newest 10,000 of the others. */
export const ACTION_FILTERS: FilterKeys = {
  state: ['pending', 'claimed', 'succeeded', 'failed', 'cancelled', 'expired', 'unfinished', 'finished'],
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
};
const LOOKED_FOR = ['source', 'error', 'text'];
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
  return Object.fromEntries(
    Object.keys(ACTION_FILTERS).flatMap((key) => (search[key] ? [[key, search[key] as string]] : [])),
  );
}

export function isLookedFor(filter: Filter): boolean {
  return LOOKED_FOR.some((key) => filter[key] !== undefined);
}

/** The filter as a request that changes: of the moment the list was read, so that what came later is never touched. */
export function matching(filter: Filter, readAt: number): Record<string, string> {
  const body = Object.fromEntries(
    MATCHED.flatMap((key) => (filter[key] ? [[key, filter[key] as string]] : [])),
  );
  const moment = new Date(readAt).toISOString();
  return filter.state === 'failed' ? { endedBefore: moment, ...body } : { createdBefore: moment, ...body };
}
