import type { Engine, Queryable } from '@muster/engine';
import type { ChannelContacts, LastContacts } from '../contacts/contacts.ts';
import type { DeviceRow } from './queries.ts';
import { wireDevice } from './wire.ts';

/** Devices as they are shown: their rows, joined with what the engine says about their lanes. One read for a page. */
const DEPTH_UP_TO = 1_000;

export type DeviceViews = ReturnType<typeof createDeviceViews>;

export function createDeviceViews(
  engine: Engine,
  { contacts, heard }: { contacts: ChannelContacts; heard: LastContacts },
) {
  return {
    instances: (client: Queryable, { tenantId, deviceId }: DeviceRow) =>
      contacts.instances(client, tenantId, deviceId),

    async show(client: Queryable, rows: readonly DeviceRow[]) {
      const loads = new Map(
        (await engine.laneLoads(client, rows, DEPTH_UP_TO)).map((load) => [load.laneId, load]),
      );
      return rows.map((row) => {
        const seenAt = heard.latest(row.tenantId, row.deviceId, row.seenAt);
        return wireDevice(row, loads.get(row.laneId), { seenAt, online: heard.isOnline(seenAt) });
      });
    },
  };
}
