// Muster over HTTP: the generic route for reports, each with the claim of the lane's next action.

import { underLoad } from '../load.mjs';
import { fill, LEASE_SECONDS, leaseAll, leases, makeLanes } from '../muster.mjs';

/** @param {'postgres' | 'pglite'} database */
const row = (database) => ({
  name: `http-fused-${database}`,
  title: `Muster over HTTP, report and claim, ${database === 'postgres' ? 'PostgreSQL' : 'PGlite'}`,
  unit: 'requests/s',
  uses: [database],
  ...(database === 'postgres' ? { template: 'leased' } : {}),
  settings:
    'POST /api/actions/:id/report with next, as the bare route with the same connections; each connection goes round lanes of its own',
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url, sizes }) {
    const { openServer } = await import('../server.mjs');
    const server = await openServer(database === 'postgres' ? url : null);
    if (database === 'pglite') {
      await makeLanes(server, sizes.embeddedLanes);
      await fill(server, sizes.perLane);
      await leaseAll(server);
    }
    const held = await leases(server);
    const result = await underLoad({
      ...sizes,
      port: server.port,
      headers: server.headers,
      leaseSeconds: LEASE_SECONDS,
      leases: held.map(({ laneId, actionId, attempt }) => ({
        actionId,
        attempt,
        worker: `worker ${laneId}`,
      })),
    });
    await server.close();
    return { ...result, connections: sizes.connections };
  },
});

export default [row('postgres'), row('pglite')];
