import { api } from '@muster/contracts';
import type { ActionFilter, Engine } from '@muster/engine';
import type { Fleet } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { isId } from '../../http/ids.ts';
import { limitOf } from '../../http/page.ts';
import type { Show } from './show.ts';

/** The actions of one device or PC in every state, so callers need not know the lanes behind them. */
export function targetRoutes({ engine, fleet, show }: { engine: Engine; fleet: Fleet; show: Show }): Route[] {
  const { db } = engine;
  return [
    defineRoute(api.checkin.actions, {
      access: operators('viewer'),
      async handler({ caller: { tenantId }, params, query }) {
        const laneId = await fleet.laneOf(db, tenantId, params.id);
        const state = stateOf(query.state);
        const filter: ActionFilter = { tenantId, laneId, ...(state === undefined ? {} : { state }) };
        const found = await engine.list(db, filter, {
          limit: limitOf(query.limit),
          ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
        });
        return { actions: await show(tenantId, found.actions), cursor: found.cursor };
      },
    }),

    defineRoute(api.pcs.actions, {
      access: operators('viewer'),
      async handler({ caller: { tenantId }, params, query }) {
        const limit = limitOf(query.limit);
        const ids = await fleet.actionsOfPc(db, tenantId, isId(params.id) ? params.id : '0', {
          state: stateOf(query.state),
          before: query.cursor,
          limit: limit + 1,
        });
        const page = ids.slice(0, limit);
        const found =
          page.length > 0
            ? (await engine.list(db, { tenantId, ids: page }, { limit: page.length })).actions
            : [];
        const cursor = ids.length > limit ? (page.at(-1) ?? null) : null;
        return { actions: await show(tenantId, found), cursor };
      },
    }),
  ];
}

/** The wire says running, the engine claimed. */
const stateOf = <S extends string>(state: S | undefined) =>
  state === 'running' ? 'claimed' : (state as Exclude<S, 'running'> | undefined);
