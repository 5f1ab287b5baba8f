// Devices that check in, each with its own token: report and claim in one request, compared with select, delete, send.

import { assignToFleet, handsOfFleet, makeFleet } from '../fleet.mjs';
import { checkIns } from '../load.mjs';

/** @param {'postgres' | 'pglite'} database */
const row = (database) => ({
  name: `checkin-${database}`,
  title: `Check-ins over HTTP, result and next action in one, ${database === 'postgres' ? 'PostgreSQL' : 'PGlite'}`,
  unit: 'check-ins/s',
  uses: [database],
  ...(database === 'postgres' ? { template: 'fleet' } : {}),
  settings:
    'POST /api/checkin of every device in turn, ten actions waiting for each, its own token each; lease, fence, history and two milestones',
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url, sizes }) {
    const { openServer } = await import('../server.mjs');
    const server = await openServer(database === 'postgres' ? url : null);
    if (database === 'pglite') {
      await makeFleet(server, sizes.embeddedLanes);
      await assignToFleet(server, sizes.perLane);
    }
    const result = await checkIns({ ...sizes, port: server.port, devices: await handsOfFleet(server) });
    await server.close();
    return { ...result, connections: sizes.connections };
  },
});

export default [
  {
    name: 'checkin-select-delete-send',
    title: 'Check-ins over HTTP: select, delete, send',
    unit: 'check-ins/s',
    uses: ['postgres'],
    settings: 'two prepared statements per check-in, pool of 20; no lease, no fence, no result, no history',
    /** @param {import('../rows.mjs').Task} task */
    async measure({ url, sizes }) {
      const { openSeedServer } = await import('../seed-checkin.mjs');
      const server = await openSeedServer(url, sizes);
      const devices = Array.from({ length: sizes.lanes }, (_, n) => ({ deviceId: n + 1 }));
      const result = await checkIns({ ...sizes, port: server.port, devices });
      await server.close();
      return { ...result, connections: sizes.connections };
    },
  },
  row('postgres'),
  row('pglite'),
];
