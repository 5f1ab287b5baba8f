import { api, type Overview, type WaitingLanes } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { countMinutes } from './count-minutes.ts';
import { engineProblems } from './engine-problems.ts';
import { Recent } from './recent.ts';
import { createStats } from './stats.ts';
import { waitingLanes } from './waiting.ts';

/** The overview of a tenant. Nothing here is counted by a scan, and concurrent callers share one read. */
const viewers = operators('viewer');
const OVERVIEW_MS = 2_000;
const WAITING_MS = 15_000;

export const overview: CreateFeature = ({ db, engine, naming, problems, searching }) => {
  problems.add(engineProblems(engine, naming));
  const stats = createStats(engine);
  engine.addDuty(countMinutes(engine));
  engine.addDuty(stats.pruning);
  const overviews = new Recent<Overview>(OVERVIEW_MS, engine.now);
  const waiting = new Recent<WaitingLanes>(WAITING_MS, engine.now);

  searching.add(async (client, { id, tenantId }) => {
    const action = id === null ? null : await engine.get(client, tenantId, id);
    if (!action) return [];
    const name = naming.nameOf(action) ?? action.kind;
    return [{ type: 'action', id: action.id, name, detail: action.state }];
  });

  return {
    name: 'overview',
    routes: [
      defineRoute(api.overviews.stats, {
        access: viewers,
        handler: ({ caller, query }) => stats.read(caller.tenantId, query),
      }),

      defineRoute(api.overviews.overview, {
        access: viewers,
        handler: ({ caller: { tenantId } }) =>
          overviews.of(tenantId, async () => ({
            at: engine.now().toISOString(),
            problems: await problems.of(db, tenantId),
          })),
      }),

      defineRoute(api.overviews.waiting, {
        access: viewers,
        handler: ({ caller: { tenantId } }) =>
          waiting.of(tenantId, () => waitingLanes(engine, naming, tenantId)),
      }),

      defineRoute(api.overviews.search, {
        access: viewers,
        async handler({ caller: { tenantId }, query }) {
          return { found: await searching.search(db, tenantId, query.q) };
        },
      }),
    ],
  };
};
