import type { ActionFilter, Engine } from '@muster/engine';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { actionWithEvents, counts, page, pauses } from './answers.ts';
import { filterOf } from './filter.ts';
import type { Lanes } from './lanes.ts';
import { unknownAction } from './restriction.ts';
import { idParams, listQuery } from './schemas.ts';
import { wireAction, wireEvent } from './wire.ts';

/** Reading, over the actions of every door. */
const viewers = operators('viewer');
const PAGE = 100;

export function readRoutes({ engine, lanes }: { engine: Engine; lanes: Lanes }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/actions',
      access: viewers,
      summary: 'List actions, newest first',
      query: listQuery,
      responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: page } },
      async handler({ caller, query }) {
        const { cursor, limit = PAGE, state, ...rest } = query;
        const filter: ActionFilter | null = await filterOf(lanes, caller.tenantId, rest);
        if (!filter) return { actions: [], cursor: null };
        const found = await engine.list(
          engine.db,
          { ...filter, ...(state === undefined ? {} : { state }) },
          { limit, ...(cursor === undefined ? {} : { cursor }) },
        );
        return { actions: found.actions.map(wireAction), cursor: found.cursor };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/actions/:id',
      access: viewers,
      summary: 'One action with its history and what it is waiting for',
      params: idParams,
      responses: { 200: { description: 'The action.', schema: actionWithEvents } },
      async handler({ caller, params }) {
        const action = await engine.get(engine.db, caller.tenantId, params.id);
        if (!action) throw unknownAction();
        const events = await engine.events(engine.db, caller.tenantId, params.id);
        return { ...wireAction(action), events: events.map(wireEvent) };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/counts',
      access: viewers,
      summary: 'How many actions are in each state, by channel',
      responses: { 200: { description: 'Counts above zero.', schema: counts } },
      async handler({ caller }) {
        const found = await engine.counts(engine.db, caller.tenantId);
        return { counts: found.map(({ channel, state, count }) => ({ channel, state, count })) };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/pauses',
      access: viewers,
      summary: 'What is paused: everything, or tags',
      responses: { 200: { description: 'A tag of null means everything.', schema: pauses } },
      async handler({ caller }) {
        return { pauses: await engine.listPauses(engine.db, caller.tenantId) };
      },
    }),
  ];
}
