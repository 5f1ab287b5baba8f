import { api } from '@muster/contracts';
import type { ActionFilter, Engine } from '@muster/engine';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { limitOf } from '../../http/page.ts';
import { filterOf } from './filter.ts';
import type { Lanes } from './lanes.ts';
import { unknownAction } from './restriction.ts';
import type { Show } from './show.ts';
import { wireEvent } from './wire.ts';

/** Reading, over the actions of every door. */
const viewers = operators('viewer');

export function readRoutes({ engine, lanes, show }: { engine: Engine; lanes: Lanes; show: Show }): Route[] {
  return [
    defineRoute(api.actions.list, {
      access: viewers,
      async handler({ caller, query }) {
        const { cursor, limit, state, ...rest } = query;
        const filter: ActionFilter | null = await filterOf(lanes, caller.tenantId, rest);
        if (!filter) return { actions: [], cursor: null };
        const found = await engine.list(engine.db, { ...filter, state }, { limit: limitOf(limit), cursor });
        return { actions: await show(caller.tenantId, found.actions), cursor: found.cursor };
      },
    }),

    defineRoute(api.actions.get, {
      access: viewers,
      async handler({ caller, params }) {
        const action = await engine.get(engine.db, caller.tenantId, params.id);
        if (!action) throw unknownAction();
        const events = await engine.events(engine.db, caller.tenantId, params.id);
        const [shown] = await show(caller.tenantId, [action]);
        return { ...shown, events: events.map(wireEvent) };
      },
    }),

    defineRoute(api.actions.counts, {
      access: viewers,
      async handler({ caller }) {
        const found = await engine.counts(engine.db, caller.tenantId);
        return { counts: found.map(({ channel, state, count }) => ({ channel, state, count })) };
      },
    }),

    defineRoute(api.actions.pauses, {
      access: viewers,
      async handler({ caller }) {
        return { pauses: await engine.listPauses(engine.db, caller.tenantId) };
      },
    }),
  ];
}
