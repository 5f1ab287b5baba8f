import type { Engine, LaneLoad, Queryable } from '@muster/engine';
import type { ChannelContacts, LastContacts } from '../contacts/contacts.ts';
import type { Naming } from '../naming/naming.ts';
import { actionsById } from './actions-by-id.ts';
import type { DeviceRow } from './queries.ts';
import { wireDevice } from './wire.ts';

/** Devices as they are shown: their rows, joined with the engine's state of their lanes. One read for a page. */
const DEPTH_UP_TO = 1_000;

export type DeviceViews = ReturnType<typeof createDeviceViews>;

export function createDeviceViews(
  engine: Engine,
  {
    contacts,
    heard,
    isCalledByKind,
    naming,
  }: {
    contacts: ChannelContacts;
    heard: LastContacts;
    /** Channels whose actions are called by their kind, so no payload is read. */
    isCalledByKind: (channel: string) => boolean;
    naming: Naming;
  },
) {
  /** The doors' names of running actions, by id: one read for the page, if there are any. */
  async function namesOf(client: Queryable, rows: readonly DeviceRow[], loads: readonly LaneLoad[]) {
    const running = loads.flatMap(({ leased }) =>
      leased && !isCalledByKind(leased.channel) ? leased.id : [],
    );
    const actions = await actionsById(engine, client, rows[0]?.tenantId as number, running);
    return new Map([...actions].map(([id, action]) => [id, naming.nameOf(action)]));
  }

  return {
    instances: (client: Queryable, { tenantId, deviceId }: DeviceRow) =>
      contacts.instances(client, tenantId, deviceId),

    async show(client: Queryable, rows: readonly DeviceRow[]) {
      const read = await engine.laneLoads(client, rows, DEPTH_UP_TO);
      const loads = new Map(read.map((load) => [load.laneId, load]));
      const names = await namesOf(client, rows, read);
      return rows.map((row) => {
        const seenAt = heard.latest(row.tenantId, row.deviceId, row.seenAt);
        const load = loads.get(row.laneId);
        const currentName = names.get(load?.leased?.id ?? '');
        return wireDevice(row, load, { seenAt, online: heard.isOnline(seenAt), currentName });
      });
    },
  };
}
