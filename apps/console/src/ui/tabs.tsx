import type { ReactNode } from 'react';
import type { Search } from '../page-address.ts';
import { count } from '../words/numbers.ts';
import { PageLink } from './page-link.tsx';

export interface Tab {
  readonly word: ReactNode;
  /** Or as much as is known: "200+". */
  readonly count?: number | string;
  readonly search: Search;
  readonly isOpen: boolean;
}

/** Links, because the address is the page. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  return (
    <nav aria-label={label} className="flex gap-1 overflow-x-auto md:flex-wrap md:overflow-visible">
      {tabs.map((tab) => (
        <PageLink
          key={JSON.stringify(tab.search)}
          to="."
          search={tab.search}
          aria-current={tab.isOpen ? 'page' : undefined}
          className="inline-flex h-8 pointer-coarse:h-touch shrink-0 items-center gap-2 rounded-control px-3 text-table font-medium text-ink-2 hover:bg-sunken aria-[current=page]:bg-sunken aria-[current=page]:text-ink"
        >
          {tab.word}
          {tab.count !== undefined && (
            <span className="text-ink-3">{typeof tab.count === 'number' ? count(tab.count) : tab.count}</span>
          )}
        </PageLink>
      ))}
    </nav>
  );
}
