import { lazy, Suspense } from 'react';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { useHas } from '../../session/session.tsx';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Figures } from './figures.tsx';
import { Problems } from './problems.tsx';
import { rangeOf } from './range.ts';
import { WhyWaiting } from './why-waiting.tsx';

const Charts = lazy(() => import('./charts.tsx'));

/** What is broken, whether it is getting worse, and why things wait. */
export function OverviewPage() {
  const counts = useApi('/api/counts', {}, { everyMs: 2_000 });
  const has = useHas('overview');
  const hour = useApi('/api/stats', rangeOf('hour'), { everyMs: 15_000, enabled: has });
  const overview = useApi('/api/overview', {}, { everyMs: 2_000, enabled: has });
  const pauses = useApi('/api/pauses', {}, { everyMs: 2_000 });
  // the problems take as many lines as there are: draw what is below them only when they are known, so that nothing moves
  if (has && (overview.isPending || pauses.isPending))
    return (
      <Page title="Overview" name="Overview">
        <Skeleton className="h-[400px]" />
      </Page>
    );
  return (
    <Page title="Overview" name="Overview">
      {has && (
        <Data query={overview} loading={null}>
          {(data) => <Problems overview={data} pauses={pauses.data?.pauses ?? []} />}
        </Data>
      )}
      <Figures counts={counts.data} hour={hour.data?.rows.filter((row) => row.channel === null)} />
      {has && <Course />}
    </Page>
  );
}

/** The charts, and why lanes wait now. */
function Course() {
  const search = address.useSearch();
  const span = search.span === 'day' ? 'day' : 'hour';
  const shown = useApi('/api/stats', rangeOf(span), { everyMs: 15_000, keep: true });
  const waiting = useApi('/api/waiting', {}, { everyMs: 15_000 });
  const tabs = (['hour', 'day'] as const).map((one) => ({
    word: one,
    search: { span: one },
    isOpen: one === span,
  }));
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
      <Card title="Throughput and depth" aside={<Tabs label="Span of time" tabs={tabs} />}>
        <div className="min-h-[404px]">
          <Data query={shown} loading={<Skeleton className="h-[404px]" />}>
            {(data) => (
              <Suspense fallback={<Skeleton className="h-[404px]" />}>
                <Charts stats={data} />
              </Suspense>
            )}
          </Data>
        </div>
      </Card>
      <Data query={waiting} loading={<Skeleton className="h-[240px]" />}>
        {(data) => <WhyWaiting waiting={data} />}
      </Data>
    </div>
  );
}
