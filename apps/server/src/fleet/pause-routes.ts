import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { Act, Audit } from '../audit/audit.ts';
import { pauseNote } from '../events/pause-note.ts';
import { operators } from '../http/access.ts';
import { defineRoute, type Route } from '../http/define-route.ts';
import { isId } from '../http/ids.ts';
import { unknownDevice } from './errors.ts';
import type { DeviceQueries } from './queries.ts';
import type { DeviceViews } from './views.ts';

/**
 * Pausing and resuming the lane of a device, for every way of delivery: check-ins, phones, PCs. Running actions go on.
 */
export function pauseRoutes(tools: {
  audit: Audit;
  engine: Engine;
  queries: DeviceQueries;
  views: DeviceViews;
}): Route[] {
  const { audit, engine, queries, views } = tools;

  const ofDevice = (verb: 'pause' | 'resume', act: Act) =>
    defineRoute(api.devices[verb], {
      access: operators('operator'),
      async handler({ body, caller, params: { id } }) {
        const { tenantId } = caller;
        const known = async () => (isId(id) && (await queries.get(engine.db, tenantId, id))) || unknown();
        const { laneId } = await known();
        await audit.change(
          caller,
          async (tx) => {
            if (verb === 'pause') await engine.pauseLane(tx, { tenantId, laneId, by: caller.name });
            else await engine.resumeLane(tx, { tenantId, laneId });
            await engine.note(tx, [pauseNote(tenantId, verb === 'pause', { laneId })]);
          },
          { act, target: `device ${id}`, detail: { reason: body.reason } },
        );
        const [shown] = await views.show(engine.db, [await known()]);
        return shown;
      },
    });

  return [ofDevice('pause', 'device.pause'), ofDevice('resume', 'device.resume')];
}

function unknown(): never {
  throw unknownDevice();
}
