import { useParams, useSearch } from '@tanstack/react-router';

/**
 * The address is the page: every filter, tab and open row is text in it. The router could derive the type of each address
 * from its tree, but over all links that took 13 of the 17 s of CPU of every check; a list of paths does the same.
 */
export type PagePath =
  | '/'
  | '/targets'
  | '/devices/$id'
  | '/hosts/$id'
  | '/actions'
  | '/actions/$id'
  | '/dead-letters'
  | '/batches'
  | '/batches/$id'
  | '/tasks'
  | '/tasks/$id'
  | '/workflows'
  | '/workflows/$id'
  | '/orders'
  | '/phones'
  | '/phones/$id'
  | '/webhooks'
  | '/webhooks/$id'
  | '/settings'
  | '/audit';

export type Search = Readonly<Record<string, string | undefined>>;

/** Where a link leads. */
export interface Address {
  /** The same page, or one of the pages. */
  readonly to: PagePath | '.';
  readonly params?: { readonly id: string };
  readonly search?: Search;
}

/** The address of this page, parsed. */
export const address = {
  useSearch: () => useSearch({ strict: false }) as Search,
  useParams: () => useParams({ strict: false }) as { readonly id: string },
};
