import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { ask, askText } from './ask.ts';
import type { Answer, GivenTo, PathOf, Saying } from './endpoints.ts';

interface Watching {
  /** Not now: what it needs is not known yet. */
  readonly enabled?: boolean;
  /** At most so often, however much happens; twice a second unless said. */
  readonly everyMs?: number;
  /** What was there stays while another filter is read. */
  readonly keep?: boolean;
}

/** What a route says, kept up to date by the hints of the stream. */
export function useApi<P extends PathOf<'GET'>>(
  path: P,
  given: GivenTo<'GET', P>,
  { enabled = true, everyMs = 500, keep = false }: Watching = {},
): UseQueryResult<Answer<'GET', P>> {
  return useQuery({
    queryKey: [path, given],
    // a path that is still open does not tell whether something has to be said
    queryFn: ({ signal }) =>
      ask('GET', path, ...([{ ...(given as object), signal }] as unknown as Saying<'GET', P>)),
    enabled,
    meta: { everyMs },
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  }) as UseQueryResult<Answer<'GET', P>>;
}

/** The same as text, for what must be shown as it was written. */
export function useApiText<P extends PathOf<'GET'>>(
  path: P,
  given: GivenTo<'GET', P>,
): UseQueryResult<string> {
  return useQuery({
    queryKey: [path, given, 'text'],
    queryFn: ({ signal }) => askText('GET', path, { ...(given as object), signal } as GivenTo<'GET', P>),
    meta: { everyMs: 500 },
  });
}
