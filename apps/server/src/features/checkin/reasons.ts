import type { DoorReason, Engine } from '@muster/engine';
import { CHECKIN, type Fleet } from '../../fleet/index.ts';

/** Why an action waits: its device is offline, and since when. One read for a whole page. */
export function giveOfflineReasons(engine: Engine, fleet: Fleet): void {
  engine.giveReasons(CHECKIN, async (client, waiting) => {
    const offline = new Map<string, DoorReason>();
    const tenantOf = new Map(waiting.map((action) => [action.laneId, action.tenantId]));
    for (const { laneId, deviceId, seenAt } of await fleet.offlineSince(client, waiting)) {
      const latest = fleet.contacts.latest(tenantOf.get(laneId) as number, deviceId, seenAt);
      if (fleet.contacts.isOnline(latest)) continue;
      const text = latest ? `Offline since ${latest.toISOString()}.` : 'The device has never checked in.';
      offline.set(laneId, { place: 'offline', code: 'OFFLINE', text, ...(latest ? { since: latest } : {}) });
    }
    return new Map(
      waiting.flatMap((action) => {
        const reason = offline.get(action.laneId);
        return reason ? [[action.id, reason] as const] : [];
      }),
    );
  });
}
