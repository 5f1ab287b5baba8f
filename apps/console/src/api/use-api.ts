import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { ask, askText } from './ask.ts';
import type { Answer, GivenTo, PathOf, Saying } from './endpoints.ts';

interface Watching {
  /** False while something it needs is not known yet. */
  readonly enabled?: boolean;
  /** The shortest time between two reads, however much happens; half a second by default. */
  readonly everyMs?: number;
  /** Keep the old rows while another filter is read. */
  readonly keep?: boolean;
}

/** The answer of a route, kept up to date by the hints of the stream. */
export function useApi<P extends PathOf<'GET'>>(
  path: P,
  given: GivenTo<'GET', P>,
  { enabled = true, everyMs = 500, keep = false }: Watching = {},
): UseQueryResult<Answer<'GET', P>> {
  return useQuery({
    queryKey: [path, given],
    // TypeScript cannot tell from a generic path whether parameters are required
    queryFn: ({ signal }) =>
      ask('GET', path, ...([{ ...(given as object), signal }] as unknown as Saying<'GET', P>)),
    enabled,
    meta: { everyMs },
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  }) as UseQueryResult<Answer<'GET', P>>;
}

/** The same as text, for content that must be shown exactly as it was written. */
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
