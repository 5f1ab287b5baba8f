import { api } from '@muster/contracts';
import type { ActionFilter, Engine } from '@muster/engine';
import { groupFailures } from '../../failures/failures.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { limitOf } from '../../http/page.ts';
import type { InternalChannels } from '../../internal/internal-channels.ts';
import type { Naming } from '../../naming/naming.ts';
import { actionError } from './errors.ts';
import { filterOf, type WireFilter } from './filter.ts';
import type { Lanes } from './lanes.ts';
import { unknownAction } from './restriction.ts';
import type { Show } from './show.ts';
import { wireEvent } from './wire.ts';

/** Reading, over the actions of every door. */
const viewers = operators('viewer');
const MOST_FAILURES = 1_000;
const A_DAY_MS = 86_400_000;

/** Payloads are read whole to search them, so something else must say which. */
function refuseTextAlone(query: WireFilter, now: Date): void {
  if (query.text === undefined || query.kind !== undefined || query.tag !== undefined) return;
  if (query.lane !== undefined) return;
  const { createdAfter } = query;
  if (createdAfter !== undefined && new Date(createdAfter).getTime() >= now.getTime() - A_DAY_MS) return;
  throw actionError(
    'MUSTER_TEXT_ALONE',
    'A search for text also needs kind, tag or lane, or createdAfter within the last 24 hours.',
  );
}

const says = (payload: unknown, text: string) =>
  JSON.stringify(payload).toLowerCase().includes(JSON.stringify(text).slice(1, -1).toLowerCase());

export function readRoutes(tools: {
  engine: Engine;
  internalChannels: InternalChannels;
  lanes: Lanes;
  naming: Naming;
  show: Show;
}): Route[] {
  const { engine, naming, show } = tools;
  return [
    defineRoute(api.actions.list, {
      access: viewers,
      async handler({ caller, query }) {
        const { cursor, limit, ids, ...filters } = query;
        const rest = { ...filters, ids: ids === undefined ? undefined : [ids].flat() };
        refuseTextAlone(rest, engine.now());
        const filter: ActionFilter | null = await filterOf(tools, caller.tenantId, rest);
        if (!filter) return { actions: [], cursor: null };
        const found = await engine.list(engine.db, filter, { limit: limitOf(limit), cursor });
        const actions = await show(caller.tenantId, found.actions);
        const { text } = rest;
        return {
          // nobody learns by searching what he is not shown
          actions: text === undefined ? actions : actions.filter(({ payload }) => says(payload, text)),
          cursor: found.cursor,
          ...(found.looked === undefined ? {} : { looked: found.looked }),
        };
      },
    }),

    defineRoute(api.actions.count, {
      access: viewers,
      async handler({ body, caller }) {
        const filter = await filterOf(tools, caller.tenantId, body);
        return filter ? engine.count(engine.db, filter) : { count: 0, more: false };
      },
    }),

    defineRoute(api.actions.failures, {
      access: viewers,
      async handler({ caller: { tenantId } }) {
        const { actions, cursor } = await engine.list(
          engine.db,
          { tenantId, state: 'failed' },
          { limit: MOST_FAILURES },
        );
        return {
          groups: groupFailures(actions, naming),
          looked: actions.length,
          more: cursor !== null,
          at: engine.now(),
        };
      },
    }),

    defineRoute(api.actions.get, {
      access: viewers,
      async handler({ caller, params }) {
        const action = await engine.get(engine.db, caller.tenantId, params.id);
        if (!action) throw unknownAction();
        const events = await engine.events(engine.db, caller.tenantId, params.id);
        const [shown] = await show(caller.tenantId, [action]);
        const workers = events.flatMap(({ worker }) => worker ?? []);
        const names = await naming.workerNamesOf(engine.db, caller.tenantId, action.channel, workers);
        return {
          ...shown,
          events: events.map((event) => ({ ...wireEvent(event), workerName: names.get(event.worker ?? '') })),
        };
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
