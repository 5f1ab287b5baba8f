import {
  Bot,
  CalendarClock,
  Grid3x3,
  Inbox,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MonitorSmartphone,
  Settings,
  Skull,
} from 'lucide-react';
import { useApi } from '../api/use-api.ts';
import type { PagePath } from '../page-address.ts';
import { PageLink } from '../ui/page-link.tsx';
import { count } from '../words/numbers.ts';

interface Item {
  readonly to: PagePath;
  readonly word: string;
  readonly icon: LucideIcon;
  readonly exact?: true;
}

const ITEMS: readonly Item[] = [
  { to: '/', word: 'Overview', icon: LayoutDashboard, exact: true },
  { to: '/targets', word: 'Targets', icon: MonitorSmartphone },
  { to: '/actions', word: 'Actions', icon: ListChecks },
  { to: '/dead-letters', word: 'Dead letters', icon: Skull },
  { to: '/batches', word: 'Batches', icon: Inbox },
  { to: '/tasks', word: 'Tasks & PCs', icon: Grid3x3 },
  { to: '/workflows', word: 'Workflows', icon: CalendarClock },
  { to: '/orders', word: 'Orders', icon: Bot },
  { to: '/settings', word: 'Settings', icon: Settings },
];

/** Where one can go; what is above zero and bad has its number in red. */
export function Navigation() {
  const dead = useDeadLetters();
  return (
    <nav
      aria-label="Pages"
      className="flex gap-1 overflow-x-auto px-2 py-1 md:flex-col md:overflow-visible md:px-3 md:py-2"
    >
      {ITEMS.map(({ exact, icon: Icon, to, word }) => (
        <PageLink
          key={to}
          to={to}
          mark={exact ? 'exact' : 'below'}
          className="flex h-8 pointer-coarse:h-touch shrink-0 items-center gap-2 rounded-control px-2 text-table font-medium text-ink-2 hover:bg-sunken aria-[current=page]:bg-sunken aria-[current=page]:text-ink"
        >
          <Icon aria-hidden size={16} />
          {word}
          {to === '/dead-letters' && dead > 0 && (
            <span className="ml-auto rounded-badge bg-red-tint px-1 text-label font-semibold text-red-text">
              {count(dead)}
            </span>
          )}
        </PageLink>
      ))}
    </nav>
  );
}

function useDeadLetters(): number {
  const { data } = useApi('/api/counts', {}, { everyMs: 2_000 });
  return (data?.counts ?? []).reduce((sum, one) => sum + (one.state === 'failed' ? one.count : 0), 0);
}
