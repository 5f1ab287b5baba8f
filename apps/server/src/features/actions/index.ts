import { ACTION_ERRORS } from '@muster/contracts/words';
import type { CreateFeature, Feature, Shell } from '../../feature.ts';
import { createHandOut } from '../../http/hand-out.ts';
import { Handed } from '../../http/handed.ts';
import { changeRoutes } from './change-routes.ts';
import { copyRoute } from './copy-route.ts';
import { enqueueRoute } from './enqueue-route.ts';
import { filterRoutes } from './filter-routes.ts';
import type { HandedToWorkers } from './handed.ts';
import { createHandingOut } from './handing-out.ts';
import { GENERIC, Lanes } from './lanes.ts';
import { pauseRoutes } from './pause-routes.ts';
import { readRoutes } from './read-routes.ts';
import { revealRoute } from './reveal-route.ts';
import { createShow } from './show.ts';
import { targetRoutes } from './target-routes.ts';
import { Views } from './views.ts';
import { workerRoutes } from './worker-routes.ts';

/** Generic lanes for any client, and the operator routes for the actions of every door. */
function createActions(shell: Shell): Feature {
  const { audit, config, copying, engine, fleet, internalChannels, log, moving, naming, redriving } = shell;
  const show = createShow({ copying, engine, fleet, moving, naming });
  const lanes = new Lanes(engine);
  const handed: HandedToWorkers = new Handed();
  const handingOut = createHandingOut({ engine, handed, handOut: createHandOut(shell, GENERIC) });
  return {
    name: 'actions',
    errors: ACTION_ERRORS,
    routes: [
      enqueueRoute({ audit, engine, lanes, log, views: new Views(engine) }),
      ...workerRoutes({ engine, handed, handingOut, lanes, leaseSeconds: config.MUSTER_LEASE_SECONDS }),
      ...readRoutes({ engine, internalChannels, lanes, naming, show }),
      ...targetRoutes({ engine, fleet, show }),
      copyRoute({ audit, copying, engine, redriving, show }),
      revealRoute({ audit, engine }),
      ...changeRoutes({ audit, engine, moving, redriving }),
      ...filterRoutes({ audit, engine, internalChannels, lanes, moving, redriving }),
      ...pauseRoutes({ audit, engine, lanes }),
    ],
  };
}

/** Naming a generic lane creates it, and it cannot be deleted. */
export const actions: CreateFeature = Object.assign(createActions, { lanesOfNobody: [GENERIC] });
