import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router';
import { LiveProvider } from './live/live.tsx';
import { loading } from './load-part.ts';
import type { PagePath, Search } from './page-address.ts';
import { SessionGate } from './session/session.tsx';
import { baseOf, tenantOfPage } from './session/tenant.ts';
import { Lost } from './shell/lost.tsx';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({
  component: () => (
    <SessionGate>
      <LiveProvider>
        <Shell />
      </LiveProvider>
    </SessionGate>
  ),
  notFoundComponent: Lost,
});

const validateSearch = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
  );

function page(path: PagePath, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component, validateSearch });
}

/** Each page is a separate chunk, loaded when it is opened. */
const routeTree = root.addChildren([
  page(
    '/',
    lazyRouteComponent(
      loading(() => import('./pages/overview/overview-page.tsx')),
      'OverviewPage',
    ),
  ),
  page(
    '/targets',
    lazyRouteComponent(
      loading(() => import('./pages/targets/targets-page.tsx')),
      'TargetsPage',
    ),
  ),
  page(
    '/devices/$id',
    lazyRouteComponent(
      loading(() => import('./pages/device/device-page.tsx')),
      'DevicePage',
    ),
  ),
  page(
    '/hosts/$id',
    lazyRouteComponent(
      loading(() => import('./pages/host/host-page.tsx')),
      'HostPage',
    ),
  ),
  page(
    '/actions',
    lazyRouteComponent(
      loading(() => import('./pages/actions/actions-page.tsx')),
      'ActionsPage',
    ),
  ),
  page(
    '/actions/$id',
    lazyRouteComponent(
      loading(() => import('./pages/action/action-page.tsx')),
      'ActionPage',
    ),
  ),
  page(
    '/dead-letters',
    lazyRouteComponent(
      loading(() => import('./pages/dead-letters/dead-letters-page.tsx')),
      'DeadLettersPage',
    ),
  ),
  page(
    '/batches',
    lazyRouteComponent(
      loading(() => import('./pages/batches/batches-page.tsx')),
      'BatchesPage',
    ),
  ),
  page(
    '/batches/$id',
    lazyRouteComponent(
      loading(() => import('./pages/batches/batch-page.tsx')),
      'BatchPage',
    ),
  ),
  page(
    '/tasks',
    lazyRouteComponent(
      loading(() => import('./pages/tasks/tasks-page.tsx')),
      'TasksPage',
    ),
  ),
  page(
    '/tasks/$id',
    lazyRouteComponent(
      loading(() => import('./pages/task/task-page.tsx')),
      'TaskPage',
    ),
  ),
  page(
    '/workflows',
    lazyRouteComponent(
      loading(() => import('./pages/workflows/workflows-page.tsx')),
      'WorkflowsPage',
    ),
  ),
  page(
    '/workflows/$id',
    lazyRouteComponent(
      loading(() => import('./pages/workflows/workflow-page.tsx')),
      'WorkflowPage',
    ),
  ),
  page(
    '/orders',
    lazyRouteComponent(
      loading(() => import('./pages/orders/orders-page.tsx')),
      'OrdersPage',
    ),
  ),
  page(
    '/phones',
    lazyRouteComponent(
      loading(() => import('./pages/phones/phones-page.tsx')),
      'PhonesPage',
    ),
  ),
  page(
    '/phones/$id',
    lazyRouteComponent(
      loading(() => import('./pages/phones/phone-page.tsx')),
      'PhonePage',
    ),
  ),
  page(
    '/webhooks',
    lazyRouteComponent(
      loading(() => import('./pages/webhooks/webhooks-page.tsx')),
      'WebhooksPage',
    ),
  ),
  page(
    '/webhooks/$id',
    lazyRouteComponent(
      loading(() => import('./pages/webhooks/webhook-page.tsx')),
      'WebhookPage',
    ),
  ),
  page(
    '/settings',
    lazyRouteComponent(
      loading(() => import('./pages/settings/settings-page.tsx')),
      'SettingsPage',
    ),
  ),
  page(
    '/audit',
    lazyRouteComponent(
      loading(() => import('./pages/audit/audit-page.tsx')),
      'AuditPage',
    ),
  ),
]);

export const router = createRouter({
  routeTree,
  basepath: baseOf(tenantOfPage()),
  defaultPreload: 'intent',
  // plain text both ways: "4718" stays a string, and links stay readable
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const said = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(said.map(([key, value]) => [key, String(value)])).toString();
    return text === '' ? '' : `?${text}`;
  },
});
