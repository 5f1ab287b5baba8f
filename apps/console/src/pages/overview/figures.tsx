import type { Counts, StatsRow } from '@muster/contracts';
import { PageLink } from '../../ui/page-link.tsx';
import { count } from '../../words/numbers.ts';

/** The four numbers; each links to exactly the rows it counts. */
export function Figures({
  counts,
  hour,
}: {
  counts: Counts | undefined;
  hour: readonly StatsRow[] | undefined;
}) {
  const of = (state: string) =>
    counts?.counts.reduce((sum, one) => sum + (one.state === state ? one.count : 0), 0);
  const sum = (name: 'succeeded' | 'failed') => hour?.reduce((all, row) => all + row[name], 0);
  const endedAfter = hour?.[0]?.at;
  const figures = [
    { word: 'Waiting', value: of('pending'), search: { internal: 'true', state: 'pending' } },
    { word: 'Running', value: of('claimed'), search: { internal: 'true', state: 'claimed' } },
    {
      word: 'Succeeded, last hour',
      value: sum('succeeded'),
      search: { internal: 'true', state: 'succeeded', endedAfter },
    },
    {
      word: 'Failed, last hour',
      value: sum('failed'),
      search: { internal: 'true', state: 'failed', endedAfter },
    },
  ];
  return (
    <ul className="grid grid-cols-2 gap-px overflow-hidden rounded-card border bg-line lg:grid-cols-4">
      {figures.map(({ search, value, word }) => (
        <li key={word} className="bg-surface">
          <PageLink to="/actions" search={search} className="block px-4 py-3 hover:bg-sunken">
            <span className="block text-label text-ink-3">{word}</span>
            <span className="block min-h-8 text-figure font-semibold">
              {value === undefined ? '' : count(value)}
            </span>
          </PageLink>
        </li>
      ))}
    </ul>
  );
}
