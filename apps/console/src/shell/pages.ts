import {
  Bot,
  CalendarClock,
  Grid3x3,
  Inbox,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MonitorSmartphone,
  ScrollText,
  Settings,
  Skull,
  Smartphone,
  Webhook,
} from 'lucide-react';
import type { PagePath } from '../page-address.ts';

export interface PageItem {
  readonly to: PagePath;
  readonly word: string;
  readonly icon: LucideIcon;
  /** Not in the navigation: another page leads to it. */
  readonly inside?: true;
  /** The server shows it only to admins. */
  readonly forAdmins?: true;
}

/** The pages, in the order of the navigation. */
export const PAGES: readonly PageItem[] = [
  { to: '/', word: 'Overview', icon: LayoutDashboard },
  { to: '/targets', word: 'Targets', icon: MonitorSmartphone },
  { to: '/actions', word: 'Actions', icon: ListChecks },
  { to: '/dead-letters', word: 'Dead letters', icon: Skull },
  { to: '/batches', word: 'Batches', icon: Inbox },
  { to: '/tasks', word: 'Tasks & PCs', icon: Grid3x3 },
  { to: '/workflows', word: 'Workflows', icon: CalendarClock },
  { to: '/orders', word: 'Orders', icon: Bot },
  { to: '/phones', word: 'Phones', icon: Smartphone },
  { to: '/webhooks', word: 'Webhooks', icon: Webhook },
  { to: '/settings', word: 'Settings', icon: Settings },
  { to: '/audit', word: 'Audit log', icon: ScrollText, inside: true, forAdmins: true },
];
