import { api } from '@muster/contracts';
import { type ActionFilter, type Engine, saysText } from '@muster/engine';
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

/** Reads the actions of every door. */
const viewers = operators('viewer');
const MOST_FAILURES = 1_000;
const A_DAY_MS = 86_400_000;
/** As many as the engine looks at for a page; hits in hidden fields do not make a search longer. */
const MOST_LOOKED_AT = 10_000;
const AT_ONCE = 500;

/** A search reads whole payloads, so another condition must narrow it down. */
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

export function readRoutes(tools: {
  engine: Engine;
  internalChannels: InternalChannels;
  lanes: Lanes;
  naming: Naming;
  show: Show;
}): Route[] {
  const { engine, naming, show } = tools;

  /**
   * A search must not reveal hidden fields: a hit in one is dropped, and the cursor skips it too, because it would
   * otherwise tell.
   */
  async function readPage(
    tenantId: number,
    filter: ActionFilter,
    page: { readonly cursor: string | undefined; readonly limit: number },
  ) {
    const { payloadText } = filter;
    const found = await engine.list(engine.db, filter, page);
    const actions = await show(tenantId, found.actions);
    if (payloadText === undefined) return { ...found, actions };
    const isShown = ({ payload }: (typeof actions)[number]) => saysText(payload, payloadText);
    const shown = actions.filter(isShown);
    let { cursor, looked = 0 } = found;
    while (cursor !== null && shown.length < page.limit && looked < MOST_LOOKED_AT) {
      const more = await engine.list(engine.db, filter, { cursor, limit: AT_ONCE });
      shown.push(...(await show(tenantId, more.actions)).filter(isShown));
      cursor = more.cursor;
      looked += more.looked ?? 0;
      const last = shown[page.limit - 1];
      if (last && shown.length > page.limit) cursor = last.id;
    }
    return { actions: shown.slice(0, page.limit), cursor, looked };
  }

  return [
    defineRoute(api.actions.list, {
      access: viewers,
      async handler({ caller, query }) {
        const { cursor, limit, ids, ...filters } = query;
        const rest = { ...filters, ids: ids === undefined ? undefined : [ids].flat() };
        refuseTextAlone(rest, engine.now());
        const filter: ActionFilter | null = await filterOf(tools, caller.tenantId, rest);
        if (!filter) return { actions: [], cursor: null };
        return readPage(caller.tenantId, filter, { cursor, limit: limitOf(limit) });
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
