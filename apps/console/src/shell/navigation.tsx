import type { Overview } from '@muster/contracts';
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useApi } from '../api/use-api.ts';
import type { PagePath } from '../page-address.ts';
import { useHas } from '../session/session.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { count } from '../words/numbers.ts';
import { problemsAre } from '../words/page-title.ts';
import { PAGES } from './pages.ts';

/** The pages; a count above zero that is a problem is red. */
export function Navigation() {
  const wrong = useWrong();
  const bar = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  // on a phone it is a bar that scrolls: keep the current page in view
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each page
  useEffect(() => {
    const here = bar.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (here && bar.current)
      bar.current.scrollLeft = here.offsetLeft - bar.current.clientWidth / 2 + here.offsetWidth / 2;
    // counts come later and push the others aside
  }, [path, wrong('/dead-letters'), wrong('/webhooks')]);
  return (
    <nav
      ref={bar}
      aria-label="Pages"
      className="relative flex gap-1 overflow-x-auto px-2 py-1 md:flex-col md:overflow-visible md:px-3 md:py-2"
    >
      {PAGES.filter(({ inside }) => !inside).map(({ icon: Icon, to, word }) => (
        <PageLink
          key={to}
          to={to}
          mark={to === '/' ? 'exact' : 'below'}
          {...(to === '/settings' && path?.endsWith('/audit') ? { 'aria-current': 'page' } : {})}
          className="flex h-8 pointer-coarse:h-touch shrink-0 items-center gap-2 rounded-control px-2 text-table font-medium text-ink-2 hover:bg-sunken aria-[current=page]:bg-sunken aria-[current=page]:text-ink"
        >
          <Icon aria-hidden size={16} />
          {word}
          {wrong(to) > 0 && (
            <span className="ml-auto rounded-badge bg-red-tint px-1 text-label font-semibold text-red-text">
              {count(wrong(to))}
            </span>
          )}
        </PageLink>
      ))}
    </nav>
  );
}

/** The number of problems on a page; the title of the tab has the number of all. */
function useWrong(): (page: PagePath) => number {
  const { data: counts } = useApi('/api/counts', {}, { everyMs: 2_000 });
  const has = useHas('overview');
  const { data } = useApi('/api/overview', {}, { everyMs: 2_000, enabled: has });
  const problems = data?.problems ?? [];
  const open = problems.length;
  useEffect(() => problemsAre(open), [open]);
  const dead = (counts?.counts ?? []).reduce((sum, one) => sum + (one.state === 'failed' ? one.count : 0), 0);
  return (page) => (page === '/dead-letters' ? dead : page === '/webhooks' ? sumOf(problems, 'WEBHOOKS') : 0);
}

function sumOf(problems: Overview['problems'], code: string): number {
  return problems.reduce((sum, one) => sum + (one.code.startsWith(code) ? one.count : 0), 0);
}
