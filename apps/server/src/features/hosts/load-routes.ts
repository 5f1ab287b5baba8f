import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import type { Hosts } from './hosts.ts';
import type { createLoadQueries } from './load-queries.ts';
import type { Host } from './queries.ts';

/** For admins: what waits, runs and is stuck, and how long things take, host by host. */
export function loadRoutes(tools: {
  contacts: ChannelContacts;
  db: Database;
  hosts: Hosts;
  loadQueries: ReturnType<typeof createLoadQueries>;
  now: () => Date;
  stuckSeconds: number;
}): Route[] {
  const { contacts, db, hosts, loadQueries, now } = tools;

  async function describe(tenantId: number, page: readonly Host[], stuckAfterSeconds = tools.stuckSeconds) {
    const ids = page.map(({ id }) => id);
    const loads = new Map((await loadQueries.loads(db, tenantId, ids)).map((load) => [load.hostId, load]));
    const stuck = await loadQueries.stuck(db, tenantId, ids, now(), stuckAfterSeconds);
    return page.map((host) => {
      const load = loads.get(host.id);
      const seenAt = contacts.latest(tenantId, host.id, host.seenAt);
      return {
        id: host.id,
        name: host.name,
        online: contacts.isOnline(seenAt),
        lastSeenAt: seenAt,
        queued: load?.queued ?? 0,
        running: load?.running ?? 0,
        oldestQueuedAt: load?.oldestQueuedAt ?? null,
        stuck: stuck.filter(({ hostId }) => hostId === host.id).map(({ hostId: _, ...action }) => action),
      };
    });
  }

  return [
    defineRoute(api.hosts.loads, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { online, text } = query;
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => hosts.list(caller, { after: query.cursor ?? '0', limit, online, text }),
          (row) => row.id,
        );
        return { hosts: await describe(caller.tenantId, items, query.stuckAfterSeconds), cursor };
      },
    }),

    defineRoute(api.hosts.load, {
      access: operators('viewer'),
      async handler({ caller, params, query }) {
        const host = await hosts.get(caller, params.hostId);
        const [load] = await describe(caller.tenantId, [host], query.stuckAfterSeconds);
        return { ...load, finished: await loadQueries.times(db, caller.tenantId, host.id) };
      },
    }),
  ];
}
