import { useNavigate } from '@tanstack/react-router';
import type { Search } from '../../page-address.ts';
import type { FilterKeys } from '../../words/filter-text.ts';

/** The filter of one kind of target, as in the address of the page, and what its field needs. */
export function useFilter(type: string, keys: FilterKeys, search: Search) {
  const navigate = useNavigate();
  const filter = Object.fromEntries(
    Object.keys(keys).flatMap((key) => (search[key] ? [[key, search[key]]] : [])),
  );
  return {
    filter,
    isSet: Object.keys(filter).length > 0,
    bar: {
      keys,
      // the tab of the page
      others: ['type'],
      value: filter,
      onChange: (value: Record<string, string | undefined>) =>
        void navigate({ to: '/targets', search: { type, ...value } }),
    },
  };
}
